package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
)

func TestTheLastSaveOfAnInterruptedRunSurvivesAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.sessions = func(ctx context.Context, _ attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			passes(ctx, time.Hour)
			f.edit(func(s *schedule.State) {
				s.Claims["B-1"] = schedule.Claim{ID: "B-1", Identifier: "B-1", Phase: schedule.Parked, Why: "by another run"}
			})
			return stopped(ctx)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		if _, err := f.run().Run(ctx); !errors.Is(err, schedule.ErrInterrupted) || errors.Is(err, store.ErrConflict) {
			t.Errorf("ended with %v", err)
		}
		if c := f.claims()["A-1"]; c.Phase != schedule.Waiting || c.Thread != "thread" {
			t.Errorf("our claim is %+v", c)
		}
		if _, kept := f.claims()["B-1"]; !kept {
			t.Error("the other run's claim was overwritten")
		}
	})
}

func TestTheLastSaveAddsTheTickToTheHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		r := f.run()
		r.Self.Run, r.Self.Attempt = "77", 2
		began := time.Now().UTC()
		if _, err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if f.store.saves != 2 {
			t.Errorf("%d saves, want one for the claim and one for its end", f.store.saves)
		}
		want := []schedule.TickRecord{{Run: "77", Attempt: 2, Started: began, Ended: time.Now().UTC(), Sessions: 1, Done: 1, Tokens: 120}}
		if diff := cmp.Diff(want, f.state().History); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if f.tick(t.Context()); f.store.saves != 2 || len(f.state().History) != 1 {
			t.Errorf("a tick with nothing to do is remembered: %d saves, %+v", f.store.saves, f.state().History)
		}
	})
}

func TestTheHistoryTellsOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		f.sessions = func(ctx context.Context, job attempt.Job, on func(attempt.Update)) schedule.Outcome {
			if job.Issue.Identifier == "A-1" {
				return schedule.Outcome{Class: schedule.IssueFailed, Why: "turn_failed"}
			}
			return f.handOver(ctx, job, on)
		}
		f.tick(t.Context())
		if past := f.state().History; len(past) != 1 || past[0].Failed != 1 || past[0].Done != 1 {
			t.Errorf("%+v", past)
		}
	})
}

func TestASaveThatFailsIsSaidOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		saves := 0
		f.store.fail = func() error {
			if saves++; saves > 1 {
				return fmt.Errorf("save %d: %w: no space left on device", saves, store.ErrUnavailable)
			}
			return nil
		}
		tick, err := f.run().Run(t.Context())
		if !errors.Is(err, store.ErrUnavailable) || strings.Count(err.Error(), "no space left") != 1 || saves < 3 {
			t.Errorf("%d saves, and the run failed with %v", saves, err)
		}
		if len(tick.Errors) > 1 {
			t.Errorf("the report says %q", tick.Errors)
		}
	})
}
