package runner_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

func TestATickEndsBeforeItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		f.flow.now.Settings.Policy.MaxConcurrent = 1
		f.sessions = func(ctx context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			passes(ctx, time.Hour)
			return stopped(ctx)
		}
		r := f.run()
		r.Deadline = 4 * time.Minute
		began := time.Now()
		tick, err := r.Run(t.Context())
		if err != nil || tick.Stopped != "deadline" {
			t.Errorf("ended with %v, %q", err, tick.Stopped)
		}
		if took := time.Since(began); took >= r.Deadline || took < r.Deadline-11*time.Second {
			t.Errorf("a tick with a deadline of %v took %v", r.Deadline, took)
		}
		if c := f.claims()["A-1"]; c.Phase != schedule.Waiting || c.Failures != 0 {
			t.Errorf("A-1 is left as %+v", c)
		}
		if _, claimed := f.claims()["A-2"]; claimed {
			t.Error("A-2 was started with no time left")
		}
	})
}

func TestATickThatPublishesLeavesItselfTimeForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.flow.change(func(s *workflow.Settings) {
			s.Repository, s.Delivery.Kind = &workflow.Repository{}, workflow.KindBranch
		}, nil)
		var left time.Duration
		r := f.run()
		r.Deadline = 20 * time.Minute
		began := time.Now()
		f.sessions = func(ctx context.Context, _ attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			<-ctx.Done()
			left = r.Deadline - time.Since(began)
			return stopped(ctx)
		}
		if _, err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left < attempt.StopTime {
			t.Errorf("the session was stopped %v before the deadline, and it may take %v", left, attempt.StopTime)
		}
	})
}

// stuck is a tracker that does not answer any more once a session runs.
type stuck struct {
	*board
	running atomic.Bool
}

func (s *stuck) IssuesByID(ctx context.Context, ids []tracker.ID) ([]tracker.Issue, error) {
	if s.running.Load() && !passes(ctx, time.Hour) {
		return nil, context.Cause(ctx)
	}
	return s.board.IssuesByID(ctx, ids)
}

func TestATrackerThatDoesNotAnswerDelaysNoDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		reader := &stuck{board: f.board}
		f.sessions = func(ctx context.Context, _ attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			reader.running.Store(true)
			<-ctx.Done()
			return stopped(ctx)
		}
		r := f.run()
		r.Deadline = 4 * time.Minute
		r.Connect = func(context.Context, workflow.Workflow) (runner.Connection, error) {
			return runner.Connection{Tracker: tracker.Adapter{Reader: reader}, Workspaces: f.root}, nil
		}
		began := time.Now()
		tick, err := r.Run(t.Context())
		if took := time.Since(began); err != nil || took >= r.Deadline {
			t.Errorf("a tick with a deadline of %v took %v: %v", r.Deadline, took, err)
		}
		if len(tick.Errors) > 0 || f.claims()["A-1"].Phase != schedule.Waiting {
			t.Errorf("errors %q, claims %+v", tick.Errors, f.claims())
		}
	})
}

// The end of a run is no failure of the issue, so nothing parks one that needs more time than
// each run has.
func TestARunSaysThatItsEndStopsAnIssueAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.sessions = func(ctx context.Context, _ attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			<-ctx.Done()
			return stopped(ctx)
		}
		for n := 1; n <= 6; n++ {
			r := f.run()
			r.Deadline = 4 * time.Minute
			tick, err := r.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("A-1: the end of the run stopped session %d on it", n)
			if got := strings.Contains(strings.Join(tick.Warnings, "\n"), want); got != (n >= 5) {
				t.Errorf("session %d: warnings %q", n, tick.Warnings)
			}
		}
	})
}
