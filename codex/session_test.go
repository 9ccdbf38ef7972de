package codex

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// compact returns JSON without insignificant differences.
func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Errorf("%q: %v", raw, err)
	}
	text, _ := json.Marshal(v)
	return string(text)
}

var echoTool = Tool{
	Name: "echo", Description: "Says it again.", InputSchema: json.RawMessage(`{"type":"object"}`),
	Call: func(_ context.Context, arguments json.RawMessage) (string, bool) { return string(arguments), true },
}

// settings returns the configuration of a thread on a server that has reported only its
// home.
func settings(t *testing.T, o Options, home string) string {
	t.Helper()
	p := posture{turns: o.profileOf("")}
	p.complete(o, serverInfo{home: home}, permissions(o, o.denied(home, 0)))
	text, err := json.Marshal(p.settings)
	if err != nil {
		t.Fatal(err)
	}
	return compact(t, text)
}

func TestTheHandshakeSaysWhatTheSpecificationAsks(t *testing.T) {
	t.Parallel()
	type call struct{ Method, Params string }
	var calls []call
	o := Options{
		Version: "1.2.3", Cwd: "/workspace", Name: "ABC-1: Title", Tools: []Tool{echoTool},
		Config: Config{Choice: Choice{Model: "gpt-5.5", Effort: "high"}},
	}
	s, _ := begin(t, o, func(p *fakeServer) {
		for range 6 {
			m, _ := p.next()
			if m.Params == nil {
				m.Params = json.RawMessage("null")
			}
			calls = append(calls, call{m.Method, compact(t, m.Params)})
			if m.ID != nil {
				p.reply(m, `{"codexHome":"/codex","thread":{"id":"thread-1"},"turn":{"id":"turn-1"},"activePermissionProfile":{"id":":read-only"}}`)
			}
		}
		p.send(completed)
		p.drain()
	})
	if _, err := s.Turn(t.Context(), Input{Text: "do <it> & say so"}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	policy := `"approvalPolicy":` + compact(t, json.RawMessage(guardedApproval))
	want := []call{
		{"initialize", `{"capabilities":{"experimentalApi":true},"clientInfo":{"name":"symphony","title":"Symphony","version":"1.2.3"}}`},
		{"initialized", `null`},
		{"config/read", `{}`},
		{"thread/start", `{` + policy + `,"config":` + settings(t, o, "/codex") + `,"cwd":"/workspace","dynamicTools":[{"description":"Says it again.","inputSchema":{"type":"object"},"name":"echo","type":"function"}],"model":"gpt-5.5"}`},
		{"thread/name/set", `{"name":"ABC-1: Title","threadId":"thread-1"}`},
		{"turn/start", `{` + policy + `,"cwd":"/workspace","effort":"high","input":[{"text":"do \u003cit\u003e \u0026 say so","type":"text"}],"model":"gpt-5.5",` +
			`"permissions":"symphony","threadId":"thread-1","title":"ABC-1: Title"}`},
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestIDsOfOlderServersAreUnderstood(t *testing.T) {
	t.Parallel()
	s, _ := begin(t, Options{}, func(p *fakeServer) {
		p.reply(p.expect("initialize"), `{"serverInfo":{"name":"codex"}}`)
		p.expect("initialized")
		p.unknown("config/read")
		p.reply(p.expect("thread/start"), `{"id":"old-thread","activePermissionProfile":{"id":":read-only"}}`)
		p.reply(p.expect("turn/start"), `{"id":"old-turn"}`)
		p.send(`{"method":"turn/completed"}`)
		p.drain()
	})
	turn, err := s.Turn(t.Context(), Input{Text: "go"})
	if err != nil || turn.ID != "old-turn" || s.ThreadID() != "old-thread" {
		t.Errorf("turn %q of %q, %v", turn.ID, s.ThreadID(), err)
	}
}

func TestAnAnswerWithoutAnIDIsAResponseError(t *testing.T) {
	t.Parallel()
	for _, result := range []string{`{}`, `null`, `[]`, `{"thread":{"id":7}}`, `{"thread":{"id":""}}`, `{"thread":"thread-1"}`} {
		j := &eventLog{}
		_, err := Open(t.Context(), dial(t, func(p *fakeServer) {
			p.hello()
			p.reply(p.expect("thread/start"), result)
			p.drain()
		}), Options{Events: j.add})
		if !errors.Is(err, ErrResponse) {
			t.Errorf("%s: %v", result, err)
		}
		if j.count(StartupFailed) != 1 {
			t.Errorf("%s: %+v", result, j.all())
		}
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the tick is over")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		_, err := Open(ctx, dial(t, (*fakeServer).drain), Options{})
		if !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
	})
}

func TestASessionOutlivesTheContextOfOpen(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Open(ctx, dial(t, func(p *fakeServer) {
		p.turn()
		p.send(completed)
		p.drain()
	}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := s.Turn(t.Context(), Input{Text: "go"}); err != nil {
		t.Error(err)
	}
	s.Close()
}

func TestAThreadIsResumed(t *testing.T) {
	t.Parallel()
	s, _ := begin(t, Options{Resume: "thread-1", Cwd: "/workspace", Tools: []Tool{echoTool}}, func(p *fakeServer) {
		p.hello()
		m := p.expect("thread/resume")
		want := `{"approvalPolicy":` + compact(t, json.RawMessage(guardedApproval)) + `,"config":` + settings(t, Options{}, "") +
			`,"cwd":"/workspace","excludeTurns":true,"threadId":"thread-1"}`
		if diff := cmp.Diff(want, compact(t, m.Params)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		p.reply(m, `{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}`)
		p.drain()
	})
	if !s.Resumed() || s.ThreadID() != "thread-1" {
		t.Errorf("resumed %v, thread %q", s.Resumed(), s.ThreadID())
	}
}

func TestAThreadThatCannotBeResumedIsReplaced(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(*fakeServer, received){
		"no rollout":    func(p *fakeServer, m received) { p.refuse(m, -32600, "no rollout found for thread id gone") },
		"active writer": func(p *fakeServer, m received) { p.refuse(m, -32600, "already has an active writer") },
		"no id":         func(p *fakeServer, m received) { p.reply(m, `{}`) },
		"silence":       func(*fakeServer, received) {},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, j := begin(t, Options{Resume: "gone"}, func(p *fakeServer) {
				p.hello()
				refuse(p, p.expect("thread/resume"))
				p.reply(p.expect("thread/start"), `{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}`)
				p.drain()
			})
			if s.Resumed() || s.ThreadID() != "thread-1" {
				t.Errorf("%s: resumed %v, thread %q", name, s.Resumed(), s.ThreadID())
			}
			if events := j.all(); len(events) != 1 || !strings.HasPrefix(events[0].Summary, "starting a new thread: ") {
				t.Errorf("%s: %+v", name, events)
			}
			s.Close()
		})
	}
}

// TestAnOlderServerIsRefused has servers that do not know a part of the posture. No session begins
// with less of it.
func TestAnOlderServerIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		refusal, want string
	}{
		"tools":    {"thread/start.dynamicTools requires experimentalApi capability", "tools of the host (dynamicTools)"},
		"policy":   {"Invalid request: unknown variant `granular`, expected one of `untrusted`", "granular approval policies"},
		"profiles": {"failed to load configuration: unknown field `permissions`", "permission profiles"},
		"settings": {"unknown field `features.goals`", "the setting features.goals"},
	} {
		j := &eventLog{}
		_, err := Open(t.Context(), dial(t, func(p *fakeServer) {
			p.hello()
			p.refuse(p.expect("thread/start"), -32600, test.refusal)
			if m, ok := p.next(); ok {
				t.Errorf("%s: then %s", name, m.Method)
			}
		}), Options{Events: j.add, Tools: []Tool{echoTool}})
		if !errors.Is(err, ErrTooOld) || !strings.Contains(err.Error(), "install Codex 0.169 or later: this one does not know "+test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if j.count(StartupFailed) != 1 || j.count(Warning) != 0 {
			t.Errorf("%s: %+v", name, j.all())
		}
	}
}

func TestAnotherRefusalFailsTheOpening(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		policy  json.RawMessage
		refusal string
	}{
		"broken configuration":    {nil, "failed to load configuration"},
		"the workflow's own wish": {json.RawMessage(`{"granular":{}}`), "unknown variant `granular`"},
	} {
		j := &eventLog{}
		_, err := Open(t.Context(), dial(t, func(p *fakeServer) {
			p.hello()
			p.refuse(p.expect("thread/start"), -32600, test.refusal)
			if m, ok := p.next(); ok {
				t.Errorf("%s: then %s", name, m.Method)
			}
		}), Options{Events: j.add, Config: Config{ApprovalPolicy: test.policy}})
		refused, ok := errors.AsType[*ResponseError](err)
		if !ok || !errors.Is(err, ErrResponse) || refused.Message != test.refusal || refused.Code != -32600 {
			t.Errorf("%s: %v", name, err)
		}
		if j.count(StartupFailed) != 1 {
			t.Errorf("%s: %+v", name, j.all())
		}
	}
}

func TestCloseEndsATurnAndCanBeRepeated(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	s, _ := begin(t, Options{}, func(p *fakeServer) {
		p.turn()
		close(started)
		p.drain()
	})
	ended := make(chan error)
	go func() {
		_, err := s.Turn(t.Context(), Input{Text: "go"})
		ended <- err
	}()
	<-started
	s.Close()
	if err := <-ended; !errors.Is(err, ErrPortExit) {
		t.Errorf("the turn: %v", err)
	}
	s.Close()
	if _, err := s.Turn(t.Context(), Input{Text: "again"}); !errors.Is(err, ErrPortExit) {
		t.Errorf("a turn on a closed session: %v", err)
	}
}
