package runner

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestWhatWasHeardEndsWithItsConversation(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l := newLoop(&Runner{})
	l.state = schedule.New(schedule.Owner{})
	l.conn.Feedback = &feedback.Channel{}
	claim := func(id tracker.ID) {
		l.state.Claims[id] = schedule.Claim{ID: id}
		l.state.StartConversations(now)
	}
	claim("ends")
	claim("lasts")
	l.conversations.read = map[tracker.ID]*conversation{"ends": {}, "lasts": {}}
	heard := func() []tracker.ID { return slices.Sorted(maps.Keys(l.outlook.snapshot(now).Feedback)) }
	if diff := cmp.Diff([]tracker.ID{"ends", "lasts"}, heard()); diff != "" {
		t.Errorf("before the end: %s", diff)
	}
	delete(l.state.Claims, "ends")
	delete(l.state.Conversations, "ends")
	if diff := cmp.Diff([]tracker.ID{"lasts"}, heard()); diff != "" {
		t.Errorf("after the end: %s", diff)
	}
	claim("ends") // again, in the same second
	if diff := cmp.Diff([]tracker.ID{"lasts"}, heard()); diff != "" {
		t.Errorf("when another conversation began: %s", diff)
	}
}

// A run plans again after each end of a session, with what it read before.
func TestWhatASessionAnsweredIsNotUnansweredAnyMoreBeforeItIsReadAgain(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l := newLoop(&Runner{})
	l.state = schedule.New(schedule.Owner{})
	l.conn.Feedback = &feedback.Channel{}
	l.state.Claims["1"] = schedule.Claim{ID: "1"}
	l.state.StartConversations(now)
	comment := tracker.Comment{ID: "c", Author: "kim", Text: "why?", At: now.Add(time.Minute)}
	l.conversations.read = map[tracker.ID]*conversation{"1": {said: feedback.Said{Comments: tracker.Comments{List: []tracker.Comment{comment}}}}}
	said := l.outlook.snapshot(now).Feedback["1"]
	if said.Round != schedule.RoundSaid {
		t.Fatalf("nothing is unanswered: %+v", said)
	}
	talk := l.state.Conversations["1"]
	talk.ReadUpTo = said.Mark
	l.state.Conversations["1"] = talk
	if after := l.outlook.snapshot(now).Feedback["1"]; after.Round != "" || !after.Mark.Equal(said.Mark) {
		t.Errorf("after the session: %+v", after)
	}
}
