package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// limited is a tracker whose first n reads fail and ask to wait.
func limited(n int, wait time.Duration) func() error {
	return func() error {
		if n--; n >= 0 {
			return &tracker.RateLimitError{Op: "list the issues", RetryAfter: wait}
		}
		return nil
	}
}

func TestAServiceDoesNotAskATrackerThatAskedToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.flow.change(func(s *workflow.Settings) { s.Poll = 200 * time.Millisecond }, nil)
		f.board.listed = limited(1, 2*time.Minute)
		began := time.Now()
		var started time.Duration
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			started = time.Since(began)
			return f.handOver(ctx, job, report)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 119*time.Second)
		defer cancel()
		r := f.run()
		r.Once = false
		tick, err := r.Run(ctx)
		if !errors.Is(err, schedule.ErrInterrupted) || len(f.board.reads) != 1 {
			t.Errorf("%v; in two minutes it asked %q, want once", err, f.board.reads)
		}
		if n := strings.Count(f.log.String(), "the tracker asks to wait"); n != 1 {
			t.Errorf("%d lines say so, want 1:\n%s", n, f.log)
		}
		if len(tick.Warnings) != 1 || len(tick.Errors) != 0 {
			t.Errorf("warnings %q, errors %q, want one warning", tick.Warnings, tick.Errors)
		}

		// The service is started again: it knows, and begins when it may.
		again := f.run()
		again.Once = false
		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := again.Run(ctx); !errors.Is(err, schedule.ErrInterrupted) {
			t.Error(err)
		}
		if started < 2*time.Minute || started > 2*time.Minute+time.Second {
			t.Errorf("the session began after %v, want 2m: %q", started, f.board.reads)
		}
	})
}

func TestClaimsAreNotReadWhileTheTrackerAsksToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.board.read = limited(1, 90*time.Second)
		f.sessions = func(ctx context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			passes(ctx, 3*time.Minute)
			if _, err := job.Tracker.IssuesByID(ctx, []tracker.ID{"A-1"}); err != nil {
				t.Errorf("after the wait the session cannot read its issue: %v", err)
			}
			return f.handOver(ctx, job, nil)
		}
		began := time.Now()
		var at []time.Duration
		read := f.board.read
		f.board.read = func() error {
			at = append(at, time.Since(began).Round(time.Second))
			return read()
		}
		f.tick(t.Context())
		if len(at) < 2 || at[1] < at[0]+90*time.Second {
			t.Errorf("claims were read after %v, want nothing for 90s after the first", at)
		}
	})
}

func TestASingleTickWaitsForTheTrackerUpToAMinute(t *testing.T) {
	for name, test := range map[string]struct {
		reads    int // that are answered by asking to wait
		wait     time.Duration
		deadline time.Duration
		works    bool
	}{
		"short":                       {1, 45 * time.Second, 0, true},
		"a whole minute":              {1, time.Minute, 0, true},
		"twice, a minute in all":      {2, 29 * time.Second, 0, true},
		"not said how long":           {1, 0, 0, true},
		"within the deadline":         {1, 45 * time.Second, 10 * time.Minute, true},
		"longer":                      {1, 61 * time.Second, 0, false},
		"twice, longer in all":        {2, 40 * time.Second, 0, false},
		"beyond the deadline":         {1, 45 * time.Second, 50 * time.Second, false},
		"an hour, whatever it claims": {1, 999 * time.Hour, 0, false},
	} {
		for _, reading := range []string{"candidates", "claims"} {
			t.Run(name+"/"+reading, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
					if reading == "claims" {
						f.edit(func(s *schedule.State) {
							s.Claims["A-2"] = schedule.Claim{ID: "A-2", Identifier: "A-2", Phase: schedule.Parked, Why: "asked"}
						})
						f.board.read = limited(test.reads, test.wait)
					} else {
						f.board.listed = limited(test.reads, test.wait)
					}
					r := f.run()
					r.Deadline = test.deadline
					tick, err := r.Run(t.Context())
					if worked := tick.Counts().Completed > 0; worked != test.works || (err == nil) != test.works {
						t.Errorf("completed %d, %v", tick.Counts().Completed, err)
					}
					if test.works {
						return
					}
					until := tick.Ended.Add(min(test.wait, time.Hour)).Truncate(time.Minute).UTC().Format("2006-01-02T15:04")
					if !errors.Is(err, tracker.ErrRateLimited) || !strings.Contains(tick.Unread, "not before "+until) {
						t.Errorf("the report says %q, want until when (%s)", tick.Unread, until)
					}
					if wait := f.state().Wait; wait.Tracker != "file" || time.Until(wait.Until) > time.Hour || time.Until(wait.Until) <= 0 {
						t.Errorf("the state knows of %+v", wait)
					}
				})
			})
		}
	}
}

func TestTheNextRunRespectsTheWaitThatTheTrackerAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.board.listed = limited(1, 10*time.Minute)
		if _, err := f.run().Run(t.Context()); !errors.Is(err, tracker.ErrRateLimited) {
			t.Fatal(err)
		}
		for _, look := range []func(context.Context) error{
			func(ctx context.Context) error { _, err := f.run().Run(ctx); return err },
			func(ctx context.Context) error { _, err := f.run().Plan(ctx); return err },
		} {
			time.Sleep(time.Minute)
			if err := look(t.Context()); !errors.Is(err, tracker.ErrRateLimited) || len(f.board.reads) != 1 {
				t.Errorf("the next run ended with %v and asked %q", err, f.board.reads)
			}
		}
		other := f.run()
		f.flow.change(func(s *workflow.Settings) { s.Tracker.Kind = "linear" }, nil)
		if tick, err := other.Run(t.Context()); err != nil || tick.Counts().Completed != 1 {
			t.Errorf("another tracker is held up too: %v", err)
		}
	})
}

func TestATrackerUnderMaintenanceIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		down := &tracker.RetryLaterError{Err: errDown, RetryAfter: 50 * time.Second}
		f.board.listed = func() error {
			if len(f.board.reads) == 1 {
				return down
			}
			return nil
		}
		tick := f.tick(t.Context())
		if tick.Counts().Completed != 1 || tick.Ended.Sub(tick.Started) < 50*time.Second {
			t.Errorf("completed %d after %v: %q", tick.Counts().Completed, tick.Ended.Sub(tick.Started), f.board.reads)
		}
	})
}

func TestAPlanWaitsForTheTrackerAsATickDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.board.listed = limited(1, 30*time.Second)
		tick, err := f.run().Plan(t.Context())
		if err != nil || !tick.Work() {
			t.Errorf("work %v, %v", tick.Work(), err)
		}
		f.board.listed = limited(1, 3*time.Minute)
		if _, err := f.run().Plan(t.Context()); !errors.Is(err, tracker.ErrRateLimited) {
			t.Errorf("a plan over a tracker that asks to wait for long: %v", err)
		}
	})
}

func TestANewCredentialOfTheTrackerLiftsItsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.board.listed = limited(1, 30*time.Minute)
		r := f.run()
		r.Once = false
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		go func() {
			time.Sleep(time.Minute)
			f.flow.change(func(s *workflow.Settings) { s.Tracker.Credentials = []string{"another"} }, nil)
		}()
		if tick, _ := r.Run(ctx); tick.Counts().Completed != 1 {
			t.Errorf("completed %d, want the issue: %q", tick.Counts().Completed, f.board.reads)
		}
		if wait := f.state().Wait; !wait.Until.IsZero() {
			t.Errorf("the state still has the wait of the old one: %+v", wait)
		}
	})
}
