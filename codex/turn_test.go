package codex

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var sameError = cmp.Comparer(func(a, b error) bool { return a == b })

func TestOnlyACompletedTurnIsASuccess(t *testing.T) {
	t.Parallel()
	ended := func(turn string) string {
		return `{"method":"turn/completed","params":{"threadId":"thread-1","turn":` + turn + `}}`
	}
	failed := func(info string) string {
		return ended(`{"id":"turn-1","status":"failed","error":{"message":"no","codexErrorInfo":` + info + `}}`)
	}
	for name, test := range map[string]struct {
		stream string
		kind   Kind
		want   *TurnError
	}{
		"completed":            {completed, TurnCompleted, nil},
		"no status":            {ended(`{"id":"turn-1"}`), TurnCompleted, nil},
		"no params":            {`{"method":"turn/completed"}`, TurnCompleted, nil},
		"null params":          {`{"method":"turn/completed","params":null}`, TurnCompleted, nil},
		"a UI's success":       {`{"method":"turn/completed","params":{"status":"success","turnId":"turn-1"}}`, TurnCompleted, nil},
		"failed":               {failed(`null`), TurnFailed, &TurnError{Category: ErrTurnFailed, Message: "no"}},
		"failed, no error":     {ended(`{"id":"turn-1","status":"failed"}`), TurnFailed, &TurnError{Category: ErrTurnFailed}},
		"a variant":            {failed(`"modelNotFound"`), TurnFailed, &TurnError{Category: ErrTurnFailed, Info: "modelNotFound", Message: "no"}},
		"a variant and status": {failed(`{"httpConnectionFailed":{"httpStatusCode":401}}`), TurnFailed, &TurnError{Category: ErrTurnFailed, Info: "httpConnectionFailed", HTTPStatus: 401, Message: "no"}},
		"a null status":        {failed(`{"responseStreamDisconnected":{"httpStatusCode":null}}`), TurnFailed, &TurnError{Category: ErrTurnFailed, Info: "responseStreamDisconnected", Message: "no"}},
		"another variant":      {failed(`{"activeTurnNotSteerable":{"turnKind":"review"}}`), TurnFailed, &TurnError{Category: ErrTurnFailed, Info: "activeTurnNotSteerable", Message: "no"}},
		"no variant":           {failed(`["x",7]`), TurnFailed, &TurnError{Category: ErrTurnFailed, Message: "no"}},
		"a flat failure":       {`{"method":"turn/completed","params":{"status":"failed","error":"no"}}`, TurnFailed, &TurnError{Category: ErrTurnFailed, Message: "no"}},
		"interrupted":          {ended(`{"id":"turn-1","status":"interrupted","error":null}`), TurnCancelled, &TurnError{Category: ErrTurnCancelled}},
		"in progress":          {ended(`{"id":"turn-1","status":"inProgress"}`), TurnFailed, &TurnError{Category: ErrTurnFailed, Message: `the turn ended with the unknown status "inProgress"`}},
		"unknown":              {ended(`{"id":"turn-1","status":"COMPLETED"}`), TurnFailed, &TurnError{Category: ErrTurnFailed, Message: `the turn ended with the unknown status "COMPLETED"`}},
		"turn/failed":          {`{"method":"turn/failed","params":{"message":"no"}}`, TurnFailed, &TurnError{Category: ErrTurnFailed, Message: "no"}},
		"turn/failed, error":   {`{"method":"turn/failed","params":{"turnId":"turn-1","error":{"message":"no"}}}`, TurnFailed, &TurnError{Category: ErrTurnFailed, Message: "no"}},
		"turn/cancelled":       {`{"method":"turn/cancelled","params":{"reason":"a person"}}`, TurnCancelled, &TurnError{Category: ErrTurnCancelled, Message: "a person"}},
		"turn/cancelled alone": {`{"method":"turn/cancelled"}`, TurnCancelled, &TurnError{Category: ErrTurnCancelled}},
	} {
		_, j, _, err := runTurn(t, Options{}, test.stream)
		switch got, ok := errors.AsType[*TurnError](err); {
		case ok && test.want != nil:
			if diff := cmp.Diff(*test.want, *got, sameError); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		case err != nil || test.want != nil:
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
		if j.count(test.kind) != 1 {
			t.Errorf("%s: no event %s in %+v", name, test.kind, j.all())
		}
	}
}

func TestARetriedErrorIsNeitherProgressNorFailure(t *testing.T) {
	t.Parallel()
	_, j, _, err := runTurn(t, Options{},
		`{"method":"error","params":{"threadId":"thread-1","turnId":"turn-1","willRetry":true,"error":{"message":"Reconnecting... 1/5","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":null}},"additionalDetails":"no network"}}}`,
		`{"method":"codex/event/stream_error","params":{"id":"e","conversationId":"thread-1","msg":{"type":"stream_error","message":"no network"}}}`,
		`{"method":"codex/event/stream_error","params":{"msg":{"payload":{"message":"no network"}}}}`,
		completed)
	if err != nil {
		t.Error(err)
	}
	retries := 0
	for _, e := range j.all() {
		if e.Method != "error" && e.Method != "codex/event/stream_error" {
			continue
		}
		if retries++; e.Progress || e.Summary != "Codex retries: no network" {
			t.Errorf("%+v", e)
		}
	}
	if retries != 3 || j.count(TurnFailed) != 0 {
		t.Errorf("%+v", j.all())
	}
}

func TestATurnSaysWhetherTheAgentActed(t *testing.T) {
	t.Parallel()
	const started = `{"method":"item/started","params":{"threadId":"thread-1","turnId":"turn-1","item":{"id":"i","type":%q}}}`
	for kind, want := range map[string]bool{
		"userMessage": false, "reasoning": false, "agentMessage": false, "plan": false,
		"commandExecution": true, "fileChange": true, "dynamicToolCall": true, "mcpToolCall": true, "somethingNew": true,
	} {
		_, _, turn, err := runTurn(t, Options{}, fmt.Sprintf(started, kind), completed)
		if err != nil || turn.Acted != want {
			t.Errorf("%s: acted %v, want %v, %v", kind, turn.Acted, want, err)
		}
	}
}

func TestAFailureWithoutACauseHasTheLastFinalError(t *testing.T) {
	t.Parallel()
	const failed = `{"method":"turn/completed","params":{"threadId":"thread-1","turn":{"id":"turn-1","status":"failed"}}}`
	fail := func(owner, info string) string {
		return `{"method":"error","params":{` + owner + `"willRetry":false,"error":{"message":"no","codexErrorInfo":"` + info + `"}}}`
	}
	for name, test := range map[string]struct {
		errors []string
		want   string
	}{
		"none":             {nil, ""},
		"ours":             {[]string{fail(`"threadId":"thread-1","turnId":"turn-1",`, "serverOverloaded")}, "serverOverloaded"},
		"an older one":     {[]string{fail(``, "serverOverloaded")}, "serverOverloaded"},
		"the last":         {[]string{fail(``, "other"), fail(``, "serverOverloaded")}, "serverOverloaded"},
		"another thread's": {[]string{fail(`"threadId":"child",`, "other")}, ""},
		"another turn's":   {[]string{fail(`"turnId":"turn-0",`, "other")}, ""},
	} {
		_, _, _, err := runTurn(t, Options{}, append(test.errors, failed)...)
		if e, ok := errors.AsType[*TurnError](err); !ok || e.Info != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, _, err := runTurn(t, Options{}, fail(``, "other"), completed); err != nil {
		t.Errorf("a turn that completes after all: %v", err)
	}
}

func TestAUsageLimitSaysWhenItEnds(t *testing.T) {
	t.Parallel()
	limits := func(windows string) string {
		return `{"method":"account/rateLimits/updated","params":{"rateLimits":` + windows + `}}`
	}
	failed := func(info string) string {
		return `{"method":"turn/completed","params":{"turn":{"id":"turn-1","status":"failed","error":{"codexErrorInfo":"` + info + `"}}}}`
	}
	both := limits(`{"primary":{"usedPercent":100,"resetsAt":2000},"secondary":{"usedPercent":40,"resetsAt":9000}}`)
	for name, test := range map[string]struct {
		stream []string
		want   int64
	}{
		"no snapshot":        {nil, 0},
		"the used up":        {[]string{both}, 2000},
		"both used up":       {[]string{limits(`{"primary":{"usedPercent":100,"resetsAt":2000},"secondary":{"usedPercent":100.5,"resetsAt":9000}}`)}, 9000},
		"none used up":       {[]string{limits(`{"primary":{"usedPercent":99,"resetsAt":9000},"secondary":{"usedPercent":1,"resetsAt":2000}}`)}, 2000},
		"the latest":         {[]string{limits(`{"primary":{"usedPercent":100,"resetsAt":1}}`), both}, 2000},
		"nulls change none":  {[]string{both, limits(`{"limitId":"codex","primary":null,"secondary":null,"credits":null}`), limits(`null`)}, 2000},
		"no time":            {[]string{limits(`{"primary":{"usedPercent":100,"resetsAt":null}}`)}, 0},
		"older, not wrapped": {[]string{`{"method":"account/rateLimits/updated","params":{"primary":{"used_percent":100,"resets_at":2000}}}`}, 2000},
	} {
		_, _, _, err := runTurn(t, Options{}, append(test.stream, failed("usageLimitExceeded"))...)
		e, _ := errors.AsType[*TurnError](err)
		if e == nil || (test.want == 0) != e.ResetsAt.IsZero() || test.want != 0 && e.ResetsAt.Unix() != test.want {
			t.Errorf("%s: %+v", name, e)
		}
	}
	_, _, _, err := runTurn(t, Options{}, both, failed("serverOverloaded"))
	if e, _ := errors.AsType[*TurnError](err); e == nil || !e.ResetsAt.IsZero() {
		t.Errorf("another failure: %+v", e)
	}
}

func TestOtherTurnsDoNotEndOurs(t *testing.T) {
	t.Parallel()
	end := func(thread, turn, status string) string {
		return `{"method":"turn/completed","params":{"threadId":"` + thread + `","turn":{"id":"` + turn + `","status":"` + status + `"}}}`
	}
	_, _, _, err := runTurn(t, Options{},
		end("child", "turn-1", "completed"), end("child", "child-turn", "failed"),
		`{"method":"turn/failed","params":{"threadId":"child","message":"no"}}`,
		`{"method":"turn/cancelled","params":{"conversationId":"child"}}`,
		end("thread-1", "turn-0", "completed"), end("thread-1", "goal-turn", "interrupted"),
		`{"method":"thread/closed","params":{"threadId":"child"}}`,
		`{"method":"thread/archived","params":{"threadId":"child","turnId":"turn-1"}}`,
		end("thread-1", "turn-1", "failed"))
	if !errors.Is(err, ErrTurnFailed) {
		t.Errorf("got %v", err)
	}
}

func TestAThreadThatClosesEndsTheSession(t *testing.T) {
	t.Parallel()
	for params, how := range map[string]string{`{"threadId":"thread-1"}`: "closed", `{"conversationId":"thread-1"}`: "closed", `{}`: "deleted"} {
		s, _, _, err := runTurn(t, Options{}, `{"method":"thread/`+how+`","params":`+params+`}`)
		if !errors.Is(err, ErrPortExit) || !strings.Contains(err.Error(), how+" it") {
			t.Errorf("%s: %v", params, err)
		}
		if _, err := s.Turn(t.Context(), Input{Text: "again"}); !errors.Is(err, ErrPortExit) {
			t.Errorf("%s, the next turn: %v", params, err)
		}
	}
}

func TestWhatHappensToAThreadIsTold(t *testing.T) {
	t.Parallel()
	_, j, _, err := runTurn(t, Options{},
		`{"method":"thread/reverted","params":{"threadId":"thread-1"}}`,
		`{"method":"model/rerouted","params":{"threadId":"thread-1","turnId":"turn-1","fromModel":"gpt-6","toModel":"gpt-5.5","reason":"capacity"}}`,
		`{"method":"model/rerouted","params":{}}`, completed)
	if err != nil || !j.says(Notification, "somebody took back a part of the thread") ||
		!j.says(Warning, "Codex has chosen another model: gpt-5.5 in place of gpt-6 (capacity)") ||
		!j.says(Warning, "Codex has chosen another model: it does not say which") {
		t.Errorf("%v: %+v", err, j.all())
	}
}

func TestAThreadThatIsArchivedEndsItsTurn(t *testing.T) {
	t.Parallel()
	for _, params := range []string{`{"threadId":"thread-1","turnId":"turn-1"}`, `{"conversationId":"thread-1"}`, `{}`} {
		archived := `{"method":"thread/archived","params":` + params + `}`
		s, _ := begin(t, Options{}, func(p *fakeServer) {
			p.turn()
			p.send(archived) // and the connection stays
			p.reply(p.expect("turn/start"), `{"turn":{"id":"turn-1"}}`)
			p.send(completed, archived)
			p.reply(p.expect("turn/start"), `{"turn":{"id":"turn-1"}}`)
			p.send(completed)
			p.drain()
		})
		if _, err := s.Turn(t.Context(), Input{Text: "go"}); !errors.Is(err, ErrTurnCancelled) || !strings.Contains(err.Error(), "archived") {
			t.Errorf("%s: %v", params, err)
		}
		for range 2 {
			if _, err := s.Turn(t.Context(), Input{Text: "go on"}); err != nil {
				t.Errorf("%s, a turn that completes before: %v", params, err)
			}
		}
	}
}

func TestMessagesOfATurnMayComeBeforeTheAnswerThatStartsIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		early []string
		want  error
	}{
		"its end":            {[]string{completed}, nil},
		"an end of no turn":  {[]string{`{"method":"turn/failed","params":{}}`}, ErrTurnFailed},
		"another turn's end": {[]string{`{"method":"turn/failed","params":{"turnId":"turn-0"}}`, completed}, nil},
	} {
		_, j, turn, err := runTurnAfter(t, func(p *fakeServer) {
			m := p.expect("turn/start")
			p.send(`{"method":"turn/started","params":{"threadId":"thread-1","turn":{"id":"turn-1"}}}`)
			p.send(test.early...)
			p.reply(m, `{"turn":{"id":"turn-1"}}`)
			p.drain()
		})
		if !errors.Is(err, test.want) || turn.ID != "turn-1" {
			t.Errorf("%s: turn %q, %v", name, turn.ID, err)
		}
		if events := j.all(); events[len(events)-1].Session != "thread-1-turn-1" {
			t.Errorf("%s: %+v", name, events)
		}
	}
}

func TestATurnMayJoinOneThatCodexRunsByItself(t *testing.T) {
	t.Parallel()
	_, _, turn, err := runTurnAfter(t, func(p *fakeServer) {
		p.send(`{"method":"turn/started","params":{"threadId":"thread-1","turn":{"id":"goal-turn"}}}`)
		p.reply(p.expect("turn/start"), `{"turn":{"id":"goal-turn"}}`)
		p.send(completed, `{"method":"turn/completed","params":{"threadId":"thread-1","turn":{"id":"goal-turn","status":"completed"}}}`)
		p.drain()
	})
	if err != nil || turn.ID != "goal-turn" {
		t.Errorf("turn %q, %v", turn.ID, err)
	}
}

func TestACancelledTurnIsInterrupted(t *testing.T) {
	t.Parallel()
	cause := errors.New("the issue is done")
	const interrupted = `{"method":"turn/completed","params":{"threadId":"thread-1","turn":{"id":"turn-1","status":"interrupted"}}}`
	for name, test := range map[string]struct {
		react func(*fakeServer, received)
		after time.Duration // how long the end takes
	}{
		"the server obeys":        {func(p *fakeServer, m received) { p.reply(m, `{}`); p.send(interrupted) }, 0},
		"the end comes first":     {func(p *fakeServer, m received) { p.send(interrupted); p.reply(m, `{}`) }, 0},
		"it was complete anyway":  {func(p *fakeServer, m received) { p.send(completed) }, 0},
		"the server refuses":      {func(p *fakeServer, m received) { p.refuse(m, -32600, "no such turn") }, 0},
		"the server says nothing": {func(*fakeServer, received) {}, interruptWait},
		"the turn goes on":        {func(p *fakeServer, m received) { p.reply(m, `{}`) }, interruptWait},
		"the server dies":         {func(p *fakeServer, m received) { p.rwc.Close() }, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, j := begin(t, Options{}, func(p *fakeServer) {
				p.turn()
				m := p.expect("turn/interrupt")
				if diff := cmp.Diff(`{"threadId":"thread-1","turnId":"turn-1"}`, compact(t, m.Params)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
				test.react(p, m)
				p.drain()
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Minute, func() { cancel(cause) })
			start := time.Now()
			turn, err := s.Turn(ctx, Input{Text: "go"})
			if !errors.Is(err, cause) || !errors.Is(err, ErrTurnCancelled) || turn.ID != "turn-1" {
				t.Errorf("%s: turn %q, %v", name, turn.ID, err)
			}
			if took := time.Since(start); took != time.Minute+test.after {
				t.Errorf("%s: took %v", name, took)
			}
			if j.count(TurnCancelled) != 1 {
				t.Errorf("%s: %+v", name, j.all())
			}
			s.Close()
		})
	}
}

func TestAQuestionThatComesDuringTheInterruptIsNotLost(t *testing.T) {
	t.Parallel()
	cause := errors.New("the run was interrupted")
	const request = `{"id":7,"method":"item/tool/requestUserInput","params":{"threadId":"thread-1","turnId":"turn-1","questions":[{"question":"which one?"}]}}`
	const item = `{"method":"item/completed","params":{"threadId":"thread-1","turnId":"turn-1","item":{"type":"agentMessage","questions":[{"title":"which one?"}]}}}`
	ctx := func(t *testing.T) (context.Context, Config) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(cause) })
		return ctx, Config{}
	}
	for name, test := range map[string]struct {
		ends func(*testing.T) (context.Context, Config)
		ask  string
		want error
	}{
		"a cancelled run":    {ctx, request, cause},
		"a turn out of time": {func(t *testing.T) (context.Context, Config) { return t.Context(), Config{TurnTimeout: time.Minute} }, request, ErrTurnTimeout},
		"without waiting":    {ctx, item, cause},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, config := test.ends(t)
			s, j := begin(t, Options{Config: config}, func(p *fakeServer) {
				p.turn()
				m := p.expect("turn/interrupt")
				p.send(test.ask)
				if test.ask == request {
					p.next()
				}
				p.reply(m, `{}`)
				p.send(`{"method":"turn/completed","params":{"threadId":"thread-1","turn":{"id":"turn-1","status":"interrupted"}}}`)
				p.drain()
			})
			turn, err := s.Turn(ctx, Input{Text: "go"})
			questions := turn.Questions
			if input, ok := errors.AsType[*InputRequired](err); ok {
				questions = input.Questions
			}
			if !errors.Is(err, test.want) || errors.Is(err, ErrInputRequired) != (test.ask == request) {
				t.Errorf("%s: %v", name, err)
			}
			if diff := cmp.Diff([]string{"which one?"}, questions); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if test.ask == request && j.count(TurnInputRequired) != 1 {
				t.Errorf("%s: %+v", name, j.all())
			}
			s.Close()
		})
	}
}

func TestATurnHasATotalTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, j := begin(t, Options{Config: Config{TurnTimeout: 10 * time.Minute}}, func(p *fakeServer) {
			p.turn()
			var wg sync.WaitGroup
			wg.Go(func() { // it is busy all the time
				minute := time.NewTicker(time.Minute)
				defer minute.Stop()
				for range 20 {
					<-minute.C
					p.send(`{"method":"item/started","params":{}}`)
				}
			})
			p.expect("turn/interrupt")
			p.drain()
			wg.Wait()
		})
		start := time.Now()
		_, err := s.Turn(t.Context(), Input{Text: "go"})
		if !errors.Is(err, ErrTurnTimeout) || errors.Is(err, ErrTurnCancelled) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != 10*time.Minute+interruptWait {
			t.Errorf("took %v", took)
		}
		if j.count(TurnEndedWithError) != 1 {
			t.Errorf("%+v", j.all())
		}
		s.Close()
	})
}

func TestAnotherTurnMayFollowAFailedOne(t *testing.T) {
	t.Parallel()
	s, j := begin(t, Options{}, func(p *fakeServer) {
		p.turn()
		p.send(`{"method":"turn/failed","params":{}}`)
		p.reply(p.expect("turn/start"), `{"turn":{"id":"turn-2"}}`)
		p.send(completed, `{"method":"turn/completed","params":{"threadId":"thread-1","turn":{"id":"turn-2","status":"completed"}}}`)
		p.drain()
	})
	if _, err := s.Turn(t.Context(), Input{Text: "go"}); !errors.Is(err, ErrTurnFailed) {
		t.Error(err)
	}
	if turn, err := s.Turn(t.Context(), Input{Text: "go on"}); err != nil || turn.ID != "turn-2" {
		t.Error(turn, err)
	}
	s.Close()
	var sessions []string
	for _, e := range j.all() {
		if e.Kind == SessionStarted {
			sessions = append(sessions, e.Session)
		}
	}
	if diff := cmp.Diff([]string{"thread-1-turn-1", "thread-1-turn-2"}, sessions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOneTurnRunsAtATime(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	s, _ := begin(t, Options{}, func(p *fakeServer) {
		p.turn()
		close(started)
		<-release
		p.send(completed)
		p.drain()
	})
	first := make(chan error)
	go func() {
		_, err := s.Turn(t.Context(), Input{Text: "go"})
		first <- err
	}()
	<-started
	if _, err := s.Turn(t.Context(), Input{Text: "me too"}); err == nil {
		t.Error("a second turn ran")
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestEveryErrorOfATurnSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  TurnError
		want string
	}{
		{TurnError{Category: ErrTurnFailed, Info: "usageLimitExceeded", Message: "a\nb\x1b", ResetsAt: time.Unix(0, 0).UTC()},
			"turn: turn_failed: usageLimitExceeded: a b: wait until 1970-01-01T00:00:00Z or raise the limit"},
		{TurnError{Category: ErrTurnFailed, Info: "sessionBudgetExceeded"},
			"turn: turn_failed: sessionBudgetExceeded: raise the limit of the account, or wait for it to reset"},
		{TurnError{Category: ErrTurnFailed, Info: "httpConnectionFailed", HTTPStatus: 401},
			"turn: turn_failed: httpConnectionFailed (HTTP 401): check the API key, the account that gives tokens, or the login of Codex"},
		{TurnError{Category: ErrTurnFailed, Info: "modelNotFound"}, "turn: turn_failed: modelNotFound: check codex.model and codex.by_label"},
		{TurnError{Category: ErrTurnFailed, Info: "contextWindowExceeded"}, "turn: turn_failed: contextWindowExceeded: continue in a new thread"},
		{TurnError{Category: ErrTurnFailed}, "turn: turn_failed: see the session's log; another turn may succeed"},
		{TurnError{Category: ErrTurnCancelled}, "turn: turn_cancelled: start another turn to continue"},
	} {
		if diff := cmp.Diff(test.want, test.err.Error()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
