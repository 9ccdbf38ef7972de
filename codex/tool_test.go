package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func toolCall(id int, name, arguments string) string {
	return fmt.Sprintf(`{"id":%d,"method":"item/tool/call","params":{"threadId":"thread-1","turnId":"turn-1","callId":"c","namespace":null,"tool":%q,"arguments":%s}}`, id, name, arguments)
}

// toolResult is the answer to item/tool/call.
type toolResult struct {
	Success      bool
	ContentItems []toolItem
}

type toolItem struct{ Type, Text string }

// toolResultOf returns an answer as the server reads it.
func toolResultOf(t *testing.T, answer any) (r toolResult) {
	t.Helper()
	text, err := json.Marshal(answer)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// callTools runs a turn in which the server makes the calls, one after the other, and
// returns the answers.
func callTools(t *testing.T, tools []Tool, calls ...string) (results []toolResult, j *eventLog) {
	t.Helper()
	s, j := begin(t, Options{Tools: tools}, func(p *fakeServer) {
		p.turn()
		for _, call := range calls {
			p.send(call)
			m, _ := p.next()
			var r toolResult
			if err := json.Unmarshal(m.Result, &r); err != nil {
				t.Errorf("answered %+v", m)
			}
			results = append(results, r)
		}
		p.send(completed)
		p.drain()
	})
	if _, err := s.Turn(t.Context(), Input{Text: "go"}); err != nil {
		t.Error(err)
	}
	s.Close()
	return results, j
}

func told(text string, ok bool) toolResult {
	return toolResult{Success: ok, ContentItems: []toolItem{{Type: "inputText", Text: text}}}
}

func TestAToolGetsItsArgumentsAndTheModelItsText(t *testing.T) {
	t.Parallel()
	results, j := callTools(t, []Tool{echoTool},
		toolCall(0, "echo", `{"body":"<hi>"}`), toolCall(1, "echo", `"{\"body\":1}"`), toolCall(2, "echo", `"plain text"`), toolCall(3, "echo", `"[1]"`),
		toolCall(4, "echo", `[1]`), toolCall(5, "echo", `null`), `{"id":"six","method":"item/tool/call","params":{"name":"echo"}}`)
	want := []toolResult{told(`{"body":"<hi>"}`, true), told(`{"body":1}`, true), told(`"plain text"`, true), told(`"[1]"`, true),
		told(`[1]`, true), told(`null`, true), told(`null`, true)}
	if diff := cmp.Diff(want, results); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !j.says(Notification, "calling echo") {
		t.Errorf("%+v", j.all())
	}
}

func TestACallOfAnUnknownToolFailsAndTheSessionContinues(t *testing.T) {
	t.Parallel()
	results, j := callTools(t, []Tool{echoTool}, toolCall(0, "rm", `{}`), `{"id":1,"method":"item/tool/call"}`, `{"id":2,"method":"item/tool/call","params":[]}`, toolCall(3, "echo", `{}`))
	want := []toolResult{told(`unsupported_tool_call: there is no tool "rm"`, false), told(`unsupported_tool_call: there is no tool ""`, false),
		told(`unsupported_tool_call: there is no tool ""`, false), told(`{}`, true)}
	if diff := cmp.Diff(want, results); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := j.count(UnsupportedToolCall); n != 3 {
		t.Errorf("%d events", n)
	}
}

func TestAToolThatFailsIsAnAnswer(t *testing.T) {
	t.Parallel()
	say := func(text string, ok bool) func(context.Context, json.RawMessage) (string, bool) {
		return func(context.Context, json.RawMessage) (string, bool) { return text, ok }
	}
	results, _ := callTools(t, []Tool{
		{Name: "no", Call: say("no such issue", false)},
		{Name: "panic", Call: func(context.Context, json.RawMessage) (string, bool) { panic("oh") }},
		{Name: "bytes", Call: say("a\xffb", true)},
		{Name: "empty", Call: say("", true)},
	}, toolCall(0, "no", `{}`), toolCall(1, "panic", `{}`), toolCall(2, "bytes", `{}`), toolCall(3, "empty", `{}`))
	want := []toolResult{told("no such issue", false), told("panic failed: oh", false), told("a\uFFFDb", true), told("", true)}
	if diff := cmp.Diff(want, results); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALongTextIsCutBetweenRunes(t *testing.T) {
	t.Parallel()
	for shift := range 4 {
		long := strings.Repeat("x", shift) + strings.Repeat("é€", maxToolText/4)
		got := toolResultOf(t, answerText(long, true)).ContentItems[0].Text
		head, note, _ := strings.Cut(got, "\n[cut: ")
		if !utf8.ValidString(got) || !strings.HasPrefix(long, head) || maxToolText-len(head) >= utf8.UTFMax || note != fmt.Sprintf("%d of %d bytes]", len(head), len(long)) {
			t.Errorf("shift %d: %d bytes, %q", shift, len(head), note)
		}
	}
	whole := strings.Repeat("x", maxToolText)
	if got := answerText(whole, true); toolResultOf(t, got).ContentItems[0].Text != whole {
		t.Error("a text of the greatest size was cut")
	}
}

func TestAToolIsStoppedAfterItsTimeout(t *testing.T) {
	t.Parallel()
	for limit, want := range map[time.Duration]time.Duration{0: toolTimeout, time.Second: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			results, _ := callTools(t, []Tool{{Name: "wait", Timeout: limit, Call: func(ctx context.Context, _ json.RawMessage) (string, bool) {
				<-ctx.Done()
				return "half done", false
			}}}, toolCall(0, "wait", `{}`))
			if took := time.Since(start); took != want {
				t.Errorf("%v: took %v", limit, took)
			}
			if diff := cmp.Diff([]toolResult{told(fmt.Sprintf("wait was stopped after at most %v. half done", want), false)}, results); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestToolsRunAtTheSameTimeUpToABound(t *testing.T) {
	t.Parallel()
	const calls = 3 * maxConcurrentTools
	var running, most atomic.Int32
	synctest.Test(t, func(t *testing.T) {
		tool := Tool{Name: "wait", Call: func(ctx context.Context, _ json.RawMessage) (string, bool) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			<-time.After(time.Second)
			return "", true
		}}
		start := time.Now()
		var ids []string
		s, _ := begin(t, Options{Tools: []Tool{tool}}, func(p *fakeServer) {
			p.turn()
			for id := range calls {
				p.send(toolCall(id, "wait", `{}`))
			}
			for range calls {
				m, _ := p.next()
				ids = append(ids, string(m.ID))
			}
			p.send(completed)
			p.drain()
		})
		if _, err := s.Turn(t.Context(), Input{Text: "go"}); err != nil {
			t.Error(err)
		}
		s.Close()
		if took := time.Since(start); took != calls/maxConcurrentTools*time.Second {
			t.Errorf("took %v", took)
		}
		slices.Sort(ids)
		if len(slices.Compact(ids)) != calls {
			t.Errorf("answered %v", ids)
		}
	})
	if most.Load() != maxConcurrentTools {
		t.Errorf("%d ran at the same time", most.Load())
	}
}

func TestASlowToolDelaysNothingElse(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	tool := Tool{Name: "wait", Call: func(context.Context, json.RawMessage) (string, bool) {
		<-release
		return "late", true
	}}
	s, _ := begin(t, Options{Tools: []Tool{tool}}, func(p *fakeServer) {
		p.turn()
		p.send(toolCall(0, "wait", `{}`), `{"id":1,"method":"currentTime/read"}`)
		if m, _ := p.next(); string(m.ID) != "1" {
			t.Errorf("answered %s first", m.ID)
		}
		close(release)
		if m, _ := p.next(); string(m.ID) != "0" {
			t.Errorf("answered %s last", m.ID)
		}
		p.send(completed)
		p.drain()
	})
	if _, err := s.Turn(t.Context(), Input{Text: "go"}); err != nil {
		t.Error(err)
	}
}

func TestCloseEndsTheToolsAndWaitsForThem(t *testing.T) {
	t.Parallel()
	var ended atomic.Int32
	started := make(chan struct{}, maxConcurrentTools)
	tool := Tool{Name: "wait", Call: func(ctx context.Context, _ json.RawMessage) (string, bool) {
		started <- struct{}{}
		<-ctx.Done()
		ended.Add(1)
		return "", false
	}}
	s, _ := begin(t, Options{Tools: []Tool{tool}}, func(p *fakeServer) {
		p.handshake()
		for id := range 2 * maxConcurrentTools { // half of them wait for the others
			p.send(toolCall(id, "wait", `{}`))
		}
		p.drain()
	})
	for range maxConcurrentTools {
		<-started
	}
	s.Close()
	if n := ended.Load(); n != maxConcurrentTools {
		t.Errorf("%d tools ended, %d ran", n, maxConcurrentTools)
	}
}

func TestToolCallsOfASessionAreBounded(t *testing.T) {
	t.Parallel()
	const bound = 3
	ran := 0
	tools := []Tool{{Name: "count", Call: func(context.Context, json.RawMessage) (string, bool) { ran++; return "counted", true }}}
	var results []toolResult
	ask := func(p *fakeServer, id int, name string) {
		p.send(toolCall(id, name, `{}`))
		m, _ := p.next()
		var r toolResult
		if err := json.Unmarshal(m.Result, &r); err != nil {
			t.Errorf("answered %+v", m)
		}
		results = append(results, r)
	}
	s, j := begin(t, Options{Tools: tools, Config: Config{MaxToolCalls: bound}}, func(p *fakeServer) {
		p.turn()
		ask(p, 0, "count")
		ask(p, 1, "no such tool")
		p.send(completed)
		p.reply(p.expect("turn/start"), `{"turn":{"id":"turn-1"}}`)
		for id := range 3 {
			ask(p, 2+id, "count")
		}
		p.send(completed)
		p.drain()
	})
	for range 2 { // the bound is the session's, and reaching it fails no turn
		if _, err := s.Turn(t.Context(), Input{Text: "go"}); err != nil {
			t.Error(err)
		}
	}
	s.Close()
	refused := told("tool_call_limit: this session has made its 3 tool calls (codex.max_tool_calls): finish without the tools", false)
	want := []toolResult{told("counted", true), told(`unsupported_tool_call: there is no tool "no such tool"`, false), told("counted", true), refused, refused}
	if diff := cmp.Diff(want, results); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := j.count(Warning); ran != 2 || n != 1 {
		t.Errorf("the tool ran %d times, with %d warnings", ran, n)
	}
}

// A script that calls a tool in a loop would do so until the turn's timeout.
func TestAnAgentThatExceedsTheLimitOfToolCallsFailsItsTurn(t *testing.T) {
	t.Parallel()
	s, j := begin(t, Options{Tools: []Tool{echoTool}, Config: Config{MaxToolCalls: 5}}, func(p *fakeServer) {
		p.turn()
		for id := range 5 + maxRefusedToolCalls {
			p.send(toolCall(id, "echo", `{}`))
			p.next()
		}
	}) // and hangs up
	_, err := s.Turn(t.Context(), Input{Text: "go"})
	if !errors.Is(err, ErrToolLimit) || !strings.Contains(err.Error(), "codex.max_tool_calls") {
		t.Error(err)
	}
	if n := j.count(Warning); n != 1 {
		t.Errorf("%d warnings", n)
	}
}
