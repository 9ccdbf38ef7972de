package runner_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/tracker"
)

// runBy stores claims that other runs work on.
func (f *fixture) runBy(owners map[tracker.ID]string) {
	f.edit(func(s *schedule.State) {
		for id, run := range owners {
			s.Self = schedule.Owner{Run: run}
			s.Apply(schedule.Decision{Action: schedule.Dispatch, ID: id, Issue: issue(string(id), "Todo")}, time.Now())
		}
	})
}

func TestEachOwnerIsAskedOnceHoweverOftenASaveConflicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"), issue("B-1", "Todo"), issue("C-1", "Todo"))
		f.runBy(map[tracker.ID]string{"A-1": "alive", "A-2": "alive", "B-1": "dead"})
		conflicts := 5
		f.store.fail = func() error {
			if conflicts--; conflicts >= 0 {
				return store.ErrConflict
			}
			return nil
		}
		asked := map[string]int{}
		r := f.run()
		r.OwnerStatuses = eachOwner(func(_ context.Context, o schedule.Owner) schedule.OwnerStatus {
			if asked[o.Run]++; o.Run == "dead" {
				return schedule.Dead
			}
			return schedule.Alive
		})
		tick, err := r.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]int{"alive": 1, "dead": 1}, asked); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
		if tick.Counts().Completed != 2 || tick.Acted != 3 { // B-1 was taken over and started, C-1 started
			t.Errorf("completed %d with %d decisions", tick.Counts().Completed, tick.Acted)
		}
	})
}

func TestOwnersThatDoNotAnswerDelayTheTickForBoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("B-1", "Todo"), issue("C-1", "Todo"))
		f.runBy(map[tracker.ID]string{"A-1": "1", "B-1": "2"})
		r := f.run()
		r.OwnerStatuses = eachOwner(func(ctx context.Context, _ schedule.Owner) schedule.OwnerStatus {
			<-ctx.Done()
			return schedule.Unknown
		})
		tick, err := r.Run(t.Context())
		if took := tick.Ended.Sub(tick.Started); err != nil || took > 35*time.Second || tick.Counts().Completed != 1 {
			t.Errorf("ended with %v after %v, completed %d", err, took, tick.Counts().Completed)
		}
	})
}

func TestAnInterruptedRunDoesNotWaitForTheStatusOfOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.runBy(map[tracker.ID]string{"A-1": "1"})
		r := f.run()
		ctx, cancel := context.WithCancel(t.Context())
		r.OwnerStatuses = eachOwner(func(ctx context.Context, _ schedule.Owner) schedule.OwnerStatus {
			cancel()
			<-ctx.Done()
			return schedule.Dead // said too late: the next run takes it over
		})
		tick, err := r.Run(ctx)
		if !errors.Is(err, schedule.ErrInterrupted) || tick.Stopped != "interrupted" || !tick.Ended.Equal(tick.Started) {
			t.Errorf("ended with %v, %q, after %v", err, tick.Stopped, tick.Ended.Sub(tick.Started))
		}
		if c := f.claims()["A-1"]; c.Phase != schedule.Running {
			t.Errorf("the claim is %+v", c)
		}
	})
}

func TestARunThatEndsAsksForNoStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		r := f.run()
		r.OwnerStatuses = eachOwner(func(context.Context, schedule.Owner) schedule.OwnerStatus {
			t.Error("asked")
			return schedule.Dead
		})
		f.sessions = func(ctx context.Context, _ attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			passes(ctx, time.Hour)
			f.runBy(map[tracker.ID]string{"B-1": "2"}) // its save meets ours
			return stopped(ctx)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		if _, err := r.Run(ctx); !errors.Is(err, schedule.ErrInterrupted) || errors.Is(err, store.ErrConflict) {
			t.Errorf("ended with %v", err)
		}
		if c := f.claims()["A-1"]; c.Phase != schedule.Waiting {
			t.Errorf("the claim is %+v", c)
		}
	})
}

func TestAServiceTakesOverTheClaimOfARunThatDiesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.runBy(map[tracker.ID]string{"A-1": "1"})
		r := f.run()
		r.Once = false
		began := time.Now()
		r.OwnerStatuses = eachOwner(func(context.Context, schedule.Owner) schedule.OwnerStatus {
			if time.Since(began) > 2*time.Minute {
				return schedule.Dead
			}
			return schedule.Alive
		})
		ctx, cancel := context.WithCancel(t.Context())
		started := 0
		f.sessions = func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
			started++
			cancel()
			return schedule.Outcome{Class: schedule.IssueFailed, Why: "test"}
		}
		time.AfterFunc(time.Hour, cancel)
		if _, err := r.Run(ctx); !errors.Is(err, schedule.ErrInterrupted) {
			t.Fatal(err)
		}
		if started != 1 || time.Since(began) > 5*time.Minute {
			t.Errorf("%d sessions after %v: nothing but the end of its lease freed the issue", started, time.Since(began))
		}
	})
}
