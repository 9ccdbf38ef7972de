package codex

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEventsSayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	_, j, _, err := runTurn(t, Options{PID: 42}, `{"method":"turn/started","params":{"threadId":"thread-1"}}`, "?", completed)
	if err != nil {
		t.Fatal(err)
	}
	events := j.all()
	for i, e := range events {
		if e.Time.Location() != time.UTC || e.Time.IsZero() {
			t.Errorf("event %d: %v", i, e.Time)
		}
		events[i].Time = time.Time{}
	}
	in := Event{PID: 42, Thread: "thread-1", Turn: "turn-1", Session: "thread-1-turn-1"}
	with := func(kind Kind, method, summary string, progress bool) Event {
		e := in
		e.Kind, e.Method, e.Summary, e.Progress = kind, method, summary, progress
		return e
	}
	want := []Event{
		with(SessionStarted, "", "a turn has started", true),
		with(Notification, "turn/started", "turn/started", true),
		with(Malformed, "", `invalid character '?' looking for beginning of value: "?"`, false),
		with(Notification, "turn/completed", "turn/completed", true),
		with(TurnCompleted, "", "the turn is complete", true),
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSummariesAreForPeople(t *testing.T) {
	t.Parallel()
	item := func(item string) string {
		return `{"method":"item/started","params":{"threadId":"thread-1","turnId":"turn-1","item":` + item + `}}`
	}
	for message, want := range map[string]string{
		item(`{"type":"commandExecution","command":"/bin/bash -lc 'npm test'","commandActions":[{"type":"unknown","command":"npm test"}]}`): "running `npm test`",
		item(`{"type":"commandExecution","command":"/bin/bash -lc 'a | b'","commandActions":[{"command":"a"},{"command":"b"}]}`):            "running `/bin/bash -lc 'a | b'`",
		item(`{"type":"commandExecution","command":["old"]}`):                                                                               "running ``",
		item(`{"type":"fileChange","changes":[{"path":"/w/a"},{"path":"/w/b"},{"path":"/w/c"}]}`):                                           "editing a and 2 more",
		item(`{"type":"fileChange","changes":[]}`):                                                                                          "editing files",
		item(`{"type":"fileChange","changes":[{"path":"/w/a","kind":{"type":"add"}}]}`):                                                     "editing a",
		item(`{"type":"fileChange","changes":[{"path":"/elsewhere/a"}]}`):                                                                   "editing /elsewhere/a",
		item(`{"type":"dynamicToolCall","tool":"echo","arguments":{}}`):                                                                     "calling echo",
		item(`{"type":"mcpToolCall","server":"db","tool":"query"}`):                                                                         "calling db.query",
		item(`{"type":"agentMessage","text":"Now\n\n  this.\u001b[31m"}`):                                                                   "Now this.[31m",
		item(`{"type":"agentMessage","text":"` + strings.Repeat("é", summaryRunes+1) + `"}`):                                                strings.Repeat("é", summaryRunes-1) + "…",
		item(`{"type":"agentMessage","text":""}`):                                                                                           "writing",
		item(`{"type":"reasoning","summary":[]}`):                                                                                           "thinking",
		item(`{"type":"reasoning","summary":["**First**","**Inspecting** the tests"]}`):                                                     "thinking: Inspecting the tests",
		item(`{"type":"plan","text":"1. Look"}`):                                                                                            "planning: 1. Look",
		item(`{"type":"webSearch","query":"x"}`):                                                                                            "searching the web for x",
		item(`{"type":"webSearch"}`):                                                                                                        "searching the web",
		item(`{"type":"imageView","path":"/w/a.png"}`):                                                                                      "looking at an image",
		item(`{"type":"contextCompaction"}`):                                                                                                "compacting its context",
		item(`{"type":"sleep"}`):                                                                                                            "sleep",
		item(`{"id":"no type"}`):                                                                                                            "item/started",
		item(`{"type":"commandExecution","aggregatedOutput":"` + strings.Repeat("x", maxShownItem) + `"}`):                                  "item/started",
		`{"method":"warning","params":{"message":"careful"}}`:                                                                               "careful",
		`{"method":"configWarning","params":{"summary":"no bwrap","details":null}}`:                                                         "no bwrap",
		`{"method":"error","params":{"error":{"message":"bad"},"willRetry":false}}`:                                                         "error: bad",
		`{"method":"error","params":{"error":"older"}}`:                                                                                     "error: older",
		`{"method":"codex/event/task_complete","params":{}}`:                                                                                "codex/event/task_complete",
		`{"method":"brand/new"}`:                                                                                                            "brand/new",
	} {
		_, j, _, _ := runTurn(t, Options{Cwd: "/w"}, message, completed)
		if !j.says(Notification, want) {
			t.Errorf("%.100s: no %q in %+v", message, want, j.all())
		}
	}
}

func TestAnEventSaysWhatTheAgentDoesNowOnlyIfItDoes(t *testing.T) {
	t.Parallel()
	command := func(method, rest string) string {
		return `{"method":"` + method + `","params":{"threadId":"thread-1","turnId":"turn-1","item":{"type":"commandExecution","command":"make"` + rest + `}}}`
	}
	for _, test := range []struct{ message, doing, summary string }{
		{command("item/started", ""), "running `make`", "running `make`"},
		{command("item/completed", `,"exitCode":0`), "ran `make`", "running `make`"}, // the same summary again: the story drops it
		{command("item/completed", `,"exitCode":2`), "ran `make`, exit code 2", "ran `make`, exit code 2"},
		{`{"method":"error","params":{"error":{"message":"no network"},"willRetry":true}}`, "Codex retries: no network", "Codex retries: no network"},
		{`{"method":"thread/tokenUsage/updated","params":{"threadId":"thread-1","turnId":"turn-1","tokenUsage":{"total":{"inputTokens":27000,"outputTokens":800},"last":{"inputTokens":27000,"outputTokens":800}}}}`, "", "thread/tokenUsage/updated"},
		{`{"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":3}}}}`, "", "account/rateLimits/updated"},
		{`{"method":"configWarning","params":{"summary":"no bwrap"}}`, "", "no bwrap"},
		{`{"method":"item/started","params":{"item":{"type":"userMessage"}}}`, "", "item/started"},
	} {
		_, j, _, _ := runTurn(t, Options{}, test.message, completed)
		events := slices.DeleteFunc(j.all(), func(e Event) bool { return e.Kind != Notification || e.Method == "turn/completed" })
		if len(events) != 1 || events[0].Doing != test.doing || events[0].Summary != test.summary {
			t.Errorf("%s:\n%+v\nwant %q and %q", test.message, events, test.doing, test.summary)
		}
	}
}

func TestDeltasMakeAtMostTenEventsASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, j := begin(t, Options{}, func(p *fakeServer) {
			p.turn()
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for i := range 2000 {
				<-tick.C
				p.send(fmt.Sprintf(`{"method":%q,"params":{"delta":"x"}}`,
					[]string{"item/agentMessage/delta", "item/commandExecution/outputDelta", "codex/event/agent_message_delta"}[i%3]))
			}
			p.send(completed)
			p.drain()
		})
		if _, err := s.Turn(t.Context(), Input{Text: "go"}); err != nil {
			t.Error(err)
		}
		s.Close()
		var last time.Time
		n := 0
		for _, e := range j.all() {
			if !strings.HasSuffix(e.Method, "elta") {
				continue
			}
			if gap := e.Time.Sub(last); gap < deltaInterval || n > 0 && gap > 2*deltaInterval || !e.Progress {
				t.Errorf("after %v: %+v", gap, e)
			}
			last, n = e.Time, n+1
		}
		if n != 20 {
			t.Errorf("%d events in two seconds", n)
		}
	})
}

func TestRateLimitsComeWithTheirEvent(t *testing.T) {
	t.Parallel()
	const limits = `{"limitId":"codex","primary":{"usedPercent":43,"resetsAt":1795300000}}`
	const bare = `{"primary":{"usedPercent":44,"resetsAt":1795300001}}`
	const older = `{"primary":{"used_percent":45.5,"window_minutes":300,"resets_at":1795300002},"secondary":null}`
	_, j, _, _ := runTurn(t, Options{},
		`{"method":"account/rateLimits/updated","params":{"rateLimits":`+limits+`}}`,
		`{"method":"account/rateLimits/updated","params":{"rateLimits":{"limitId":"codex","primary":null}}}`,
		`{"method":"account/rateLimits/updated","params":`+bare+`}`,
		`{"method":"codex/event/token_count","params":{"msg":{"info":null,"rate_limits":`+older+`}}}`,
		`{"method":"codex/event/token_count","params":{"msg":{"payload":{"info":{"total_token_usage":{"total_tokens":5}},"rate_limits":`+limits+`}}}}`,
		`{"method":"codex/event/token_count","params":{"msg":{"info":null,"rate_limits":{"primary":null,"secondary":null}}}}`, completed)
	var got []string
	for _, e := range j.all() {
		if e.RateLimits != nil {
			got = append(got, string(e.RateLimits))
		}
	}
	if diff := cmp.Diff([]string{limits, bare, older, limits}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
