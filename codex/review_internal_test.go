package codex

import (
	"context"
	"encoding/json"
	"testing"
)

// A review that took too long may be heard of after its end.
func TestAReviewThatHasEndedIsNotTheAgent(t *testing.T) {
	t.Parallel()
	called := false
	c := &core{thread: "own", o: Options{Tools: []Tool{{Name: "deliver", Call: func(context.Context, json.RawMessage) (string, bool) {
		called = true
		return "", true
	}}}}}
	s := newSession(c)
	c.turn, c.reviews = newTurn(c.o, posture{}), map[string]*turn{"second": newTurn(c.o, posture{turns: c.o.profileOf(reviewName)})}
	method := "item/tool/call"
	call := func(thread string) {
		s.requests.callTool(t.Context(), message{Method: &method, Params: json.RawMessage(`{"threadId":"` + thread + `","tool":"deliver"}`)})
	}
	if call("second"); called {
		t.Error("a review has called a tool of the host")
	}
	e := Event{Method: "item/completed"}
	s.notifications.onItem(&e, json.RawMessage(`{"threadId":"second","item":{"type":"agentMessage","text":"Approved."}}`))
	s.requests.blockTurn(message{Method: &method, Params: json.RawMessage(`{"threadId":"second"}`)}, "May I?")
	if e.Said != "" || c.turn.blockingQuestions != nil {
		t.Errorf("the agent said %q and asks %q", e.Said, c.turn.blockingQuestions)
	}
	if call("own"); !called {
		t.Error("the agent cannot call the tool, so this shows nothing")
	}
}
