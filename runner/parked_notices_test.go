package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// notices is the side of a tracker that comments are posted on.
type notices struct {
	mu         sync.Mutex
	refuse     error
	posted     map[tracker.ID]int
	texts      map[string][]string // by the key of the comment
	tried, now int
	atOnce     int // the most at one time
	store      *memory
}

func (n *notices) Comment(_ context.Context, id tracker.ID, key, text string) error {
	n.mu.Lock()
	if n.texts == nil {
		n.texts = map[string][]string{}
	}
	n.texts[key] = append(n.texts[key], text)
	n.tried++
	n.now++
	n.atOnce = max(n.atOnce, n.now)
	n.mu.Unlock()
	time.Sleep(time.Second)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now--
	if n.refuse == nil {
		n.posted[id]++
	}
	return n.refuse
}

func (n *notices) Move(context.Context, tracker.ID, string) error { return nil }

func (n *notices) Label(context.Context, tracker.ID, string, bool) error { return nil }

// withParked returns a fixture with parked issues whose people were not told yet, and how to
// run a tick on it.
func withParked(t *testing.T, count int) (*notices, func() (warnings []string)) {
	n := &notices{posted: map[tracker.ID]int{}}
	var issues []tracker.Issue
	for i := range count {
		issues = append(issues, issue(fmt.Sprintf("A-%d", i+1), "Todo"))
	}
	f := newFixture(t, issues...)
	n.store = f.store
	f.edit(func(s *schedule.State) {
		for _, i := range issues {
			s.Claims[i.ID] = schedule.Claim{ID: i.ID, Identifier: i.Identifier, Phase: schedule.Parked, Since: time.Now(), Why: "it asks", Content: i.ContentDigest(), State: i.State}
		}
		s.StartConversations(time.Now())
	})
	return n, func() []string {
		r := f.run()
		r.Connect = func(context.Context, workflow.Workflow) (runner.Connection, error) {
			return runner.Connection{Tracker: tracker.Adapter{Reader: f.board}, Workspaces: f.root, Feedback: &feedback.Channel{Writer: n}}, nil
		}
		tick, err := r.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return tick.Warnings
	}
}

func TestThePeopleOfManyParkedIssuesAreToldAFewAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, tick := withParked(t, 35)
		saves := n.store.saves
		for range 2 {
			if warnings := tick(); len(warnings) != 0 {
				t.Errorf("warnings %q", warnings)
			}
		}
		if saves = n.store.saves - saves; saves > 2 {
			t.Errorf("%d saves, want one as the tick begins and one for all notices", saves)
		}
		if len(n.posted) != 35 || n.tried != 35 || n.atOnce > 10 {
			t.Errorf("%d of 35 issues were told in %d tries, %d at once", len(n.posted), n.tried, n.atOnce)
		}
	})
}

// Nobody is told of a comment that is edited, and a new question in the place of the old one
// would stand above the answer to that.
func TestEachQuestionIsACommentOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notices{posted: map[tracker.ID]int{}}
		one := issue("A-1", "Todo")
		f := newFixture(t, one)
		tick := func(phase schedule.Phase, sessions int, why, asked string) {
			t.Helper()
			f.edit(func(s *schedule.State) {
				c := schedule.Claim{ID: one.ID, Identifier: one.Identifier, Phase: phase, Since: time.Now(), Why: why, Content: one.ContentDigest(), State: one.State, Sessions: sessions}
				if phase == schedule.Waiting {
					c.Due = time.Now().Add(time.Hour)
				}
				s.Claims[one.ID] = c
				s.StartConversations(time.Now())
				talk := s.Conversations[one.ID]
				talk.Asked = asked
				s.Conversations[one.ID] = talk
			})
			r := f.run()
			r.Connect = func(context.Context, workflow.Workflow) (runner.Connection, error) {
				return runner.Connection{Tracker: tracker.Adapter{Reader: f.board}, Workspaces: f.root, Feedback: &feedback.Channel{Writer: n}}, nil
			}
			if _, err := r.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		const question = "Which colour?"
		for session := range 2 {
			tick(schedule.Parked, session+1, "it asks", question)
			tick(schedule.Parked, session+1, "it asks", question) // the next run says nothing again
			tick(schedule.Waiting, session+1, "somebody answered", "")
		}
		tick(schedule.Parked, 3, "it failed too often", "")
		tick(schedule.Waiting, 3, "somebody said so", "")
		questions := 0
		for key, texts := range n.texts {
			last := texts[len(texts)-1]
			switch {
			case strings.HasPrefix(key, "question-") && len(texts) == 1 && strings.Contains(last, question):
				questions++
			case strings.HasPrefix(key, "waiting-") && len(texts) == 2 && strings.Contains(texts[0], "failed too often") && strings.Contains(last, "It goes on"):
			default:
				t.Errorf("the comment %s says %q", key, texts)
			}
		}
		if questions != 2 || len(n.texts) != 3 {
			t.Errorf("%d questions among %d comments", questions, len(n.texts))
		}
	})
}

// A token that lost its permission fails for every parked issue, in every tick.
func TestATickDoesNotTryToTellEachOfManyParkedIssues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, tick := withParked(t, 35)
		n.refuse = errors.New("403 Forbidden")
		if warnings := tick(); n.tried != 10 || len(warnings) != 11 {
			t.Errorf("%d tries, warnings %q", n.tried, warnings)
		}
		n.refuse = nil
		tick()
		if len(n.posted) != 35 {
			t.Errorf("%d of 35 issues were told when it was possible again", len(n.posted))
		}
	})
}
