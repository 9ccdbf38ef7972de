package runner

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/discussion"
	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestWhatWasHeardEndsWithItsConversation(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l := newLoop(&Runner{})
	l.state = schedule.New(schedule.Owner{})
	l.conn.Discussion = &discussion.Discussion{}
	claim := func(id tracker.ID) {
		l.state.Claims[id] = schedule.Claim{ID: id}
		l.state.StartConversations(now)
	}
	claim("ends")
	claim("lasts")
	said := feedback.News{Feedback: schedule.Feedback{Round: schedule.RoundSaid, Mark: schedule.Mark{At: now}}}
	l.talks.news = map[tracker.ID]feedback.News{"ends": said, "lasts": said}
	heard := func() []tracker.ID { return slices.Sorted(maps.Keys(l.snapshot(now).Feedback)) }
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
