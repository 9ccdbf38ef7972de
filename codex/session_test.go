package codex

import (
	"context"
	"encoding/json"
	"errors"
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
