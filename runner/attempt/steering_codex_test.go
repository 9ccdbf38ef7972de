package attempt

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// TestWhatPeopleSayDuringATurnIsAnsweredInIt gives an item to the real Codex while a command runs, and
// one while a tool of ours does.
func TestWhatPeopleSayDuringATurnIsAnsweredInIt(t *testing.T) {
	t.Parallel()
	steering := new(Steering)
	results := make(chan error, 2)
	give := func(id, text string) {
		steering.Give([]prompt.Feedback{{ID: id, Kind: prompt.FeedbackComment, Author: "kim", Text: text}}, func(err error) { results <- err })
	}
	answers := calls(t, "reply", map[string]string{"to": "1", "text": "It is fast now."})
	f, m := newCodexFixture(t, codextest.Lane{Replies: []codextest.Reply{runs(t, "echo begun; sleep 1"), answers, calls(t, "reply", map[string]string{"to": "2", "text": "It is."})}})
	var posted []string
	f.job.CanAsk, f.job.Steering = true, steering
	f.job.Reply = func(_ context.Context, id, text string, _ bool) error {
		posted = append(posted, id+" "+text)
		if id == "1" {
			go give("2", "Is it small?")
			for !f.sent("Is it small?") {
				runtime.Gosched()
			}
		}
		return nil
	}
	first := false
	f.onUpdate = func(u Update) {
		if !first && strings.Contains(u.Doing, "running `") {
			first = true
			go give("1", "Is it fast?")
		}
	}
	got := f.run(t.Context())
	if got.Class != schedule.Done || got.Turns != 1 || strings.Join(posted, "; ") != "1 It is fast now.; 2 It is." {
		t.Errorf("%+v, posted %q", got, posted)
	}
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	for i, want := range map[int]string{1: "## 1. kim: a comment", 2: "## 2. kim: a comment"} {
		requests := m.Requests()
		if i >= len(requests) {
			t.Fatalf("%d requests", len(requests))
		}
		if !strings.Contains(string(requests[i].Body), want) || strings.Contains(string(requests[i-1].Body), want) {
			t.Errorf("request %d of the model is not the first with %q", i, want)
		}
	}
	steering.Give(nil, func(err error) {
		if err == nil || steering.IsReady() {
			t.Error("a session that has ended takes feedback")
		}
	})
}

// sent reports whether the event log has a message to Codex with this text.
func (f *fixture) sent(text string) bool {
	return strings.Contains(f.readLog(), text)
}
