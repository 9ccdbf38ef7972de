package runner_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/discussion"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// notices is the side of a tracker that comments are posted on.
type notices struct {
	mu         sync.Mutex
	refuse     error
	posted     map[tracker.ID]int
	tried, now int
	atOnce     int // the most at one time
}

func (n *notices) Comment(_ context.Context, id tracker.ID, _, _ string) error {
	n.mu.Lock()
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
	f.edit(func(s *schedule.State) {
		for _, i := range issues {
			s.Claims[i.ID] = schedule.Claim{ID: i.ID, Identifier: i.Identifier, Phase: schedule.Parked, Since: time.Now(), Why: "it asks", Content: i.ContentDigest(), State: i.State}
		}
		s.StartConversations(time.Now())
	})
	return n, func() []string {
		r := f.run()
		r.Connect = func(context.Context, workflow.Workflow) (runner.Connection, error) {
			return runner.Connection{Tracker: tracker.Adapter{Reader: f.board}, Workspaces: f.root, Discussion: &discussion.Discussion{Writer: n}}, nil
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
		for range 2 {
			if warnings := tick(); len(warnings) != 0 {
				t.Errorf("warnings %q", warnings)
			}
		}
		if len(n.posted) != 35 || n.tried != 35 || n.atOnce > 10 {
			t.Errorf("%d of 35 issues were told in %d tries, %d at once", len(n.posted), n.tried, n.atOnce)
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
