package runner_test

import (
	"context"
	"errors"
	"os"
	"slices"
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
	"github.com/symphony-runner/symphony/workspace"
)

// broken is a cause of failures that lasts until it is repaired.
type broken struct {
	cause    schedule.Cause
	repaired atomic.Bool
	tests    atomic.Int32
}

func (b *broken) test(_ context.Context, _ workflow.Workflow, cause schedule.Cause) error {
	b.tests.Add(1)
	if b.repaired.Load() {
		return nil
	}
	return errors.New("it does not start")
}

// fail makes each session fail until the cause is repaired.
func (b *broken) fail(f *fixture) {
	f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
		if !b.repaired.Load() {
			return schedule.Outcome{Class: schedule.Systemic, Why: "it does not start", Cause: b.cause}
		}
		return f.handOver(ctx, job, report)
	}
}

func TestTheNextRunStartsAsSoonAsTheCauseOfAPauseIsOver(t *testing.T) {
	for name, interferes := range map[string]bool{"alone": false, "while another run saves in between": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
				b := &broken{cause: schedule.CauseStart}
				b.fail(f)
				var interfere atomic.Bool
				f.store.fail = func() error { // before the next save
					if interfere.CompareAndSwap(true, false) {
						f.edit(func(s *schedule.State) { s.Days = append(s.Days, schedule.Day{Date: "1999-01-01"}) })
					}
					return nil
				}
				tick := func() (sessions int) {
					r := f.run()
					r.Test = func(ctx context.Context, wf workflow.Workflow, cause schedule.Cause) error {
						<-time.After(time.Second) // until the loop has saved what it does meanwhile
						err := b.test(ctx, wf, cause)
						interfere.Store(interferes && err == nil)
						return err
					}
					done, err := r.Run(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					return done.Spent.Sessions
				}
				tick()
				if tested, n := b.tests.Load(), tick(); tested != 0 || n != 0 || b.tests.Load() != 1 {
					t.Errorf("%d tests in the run that paused; then %d sessions after %d tests", tested, n, b.tests.Load())
				}
				b.repaired.Store(true)
				worked := f.noteWork()
				if tick(); len(*worked) != 2 {
					t.Errorf("after the repair it works on %v:\n%s", *worked, f.log)
				}
			})
		})
	}
}

func TestAServiceTestsTheCauseOfItsPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		b := &broken{cause: schedule.CauseMachine}
		b.fail(f)
		r := f.run()
		r.Once, r.Test = false, b.test
		f.flow.now.Settings.Policy.MaxBackoff = 24 * time.Hour
		f.flow.now.Settings.Poll = time.Second
		time.AfterFunc(time.Hour, func() { b.repaired.Store(true) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour+time.Minute)
		defer cancel()
		tick, err := r.Run(ctx)
		if !errors.Is(err, schedule.ErrInterrupted) || !slices.Equal(tick.Warnings, []string{"over now: it does not start"}) || len(f.claims()) != 0 {
			t.Errorf("%v, warnings %q, claims %+v", err, tick.Warnings, f.claims())
		}
		if n := b.tests.Load(); n < 100 || n > 125 {
			t.Errorf("%d tests in an hour", n)
		}
	})
}

func TestSessionsThatFailAtOnceShareTheTestOfTheirCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"), issue("A-3", "Todo"), issue("A-4", "Todo"), issue("A-5", "Todo"))
		var tests atomic.Int32
		r := f.run()
		r.Test = func(context.Context, workflow.Workflow, schedule.Cause) error {
			tests.Add(1)
			<-time.After(time.Second)
			return errors.New("it does not start")
		}
		f.sessions = func(ctx context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			if err := job.Test(ctx, schedule.CauseStart); err == nil {
				t.Error("the test passes")
			}
			return schedule.Outcome{Class: schedule.Systemic, Why: "it does not start", Cause: schedule.CauseStart}
		}
		if _, err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := tests.Load(); n > 2 {
			t.Errorf("%d tests", n)
		}
	})
}

func TestAnInterruptedRunDoesNotWaitForATest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		b := &broken{cause: schedule.CauseStart}
		b.fail(f)
		f.tick(t.Context())
		r := f.run()
		r.Test = func(ctx context.Context, _ workflow.Workflow, _ schedule.Cause) error { <-ctx.Done(); return nil }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Run(ctx); !errors.Is(err, schedule.ErrInterrupted) {
			t.Error(err)
		}
		if p := f.state().Pause; !p.Until.After(time.Now()) || p.Passed {
			t.Errorf("a test that was stopped has passed: %+v", p)
		}
	})
}

func TestTheFolderOfTheWorkspacesIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		var open, canOpen atomic.Int32
		r := f.run()
		r.Once = false
		connect := r.Connect
		r.Connect = func(ctx context.Context, wf workflow.Workflow) (runner.Connection, error) {
			conn, err := connect(ctx, wf)
			if open.Add(1) == 1 {
				return conn, err
			}
			if canOpen.Load() == 0 {
				return runner.Connection{}, errors.New("the disk is read-only")
			}
			again, err := workspace.Open(workspace.Config{Root: f.dir}, workspace.Env{Parent: os.Environ()}, r.Log)
			if err == nil {
				t.Cleanup(func() { again.Close() })
			}
			conn.Workspaces = again
			return conn, err
		}
		worked := f.noteWork()
		f.board.issues = nil
		time.AfterFunc(10*time.Second, func() {
			if err := os.RemoveAll(f.dir); err != nil {
				t.Error(err)
			}
			f.board.mu.Lock()
			defer f.board.mu.Unlock()
			f.board.issues = []tracker.Issue{issue("A-1", "Todo")}
		})
		time.AfterFunc(5*time.Minute, func() {
			if open.Load() < 2 || len(f.claims()) > 0 {
				t.Errorf("%d times opened, claims %v", open.Load(), f.claims())
			}
			canOpen.Store(1)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		tick, err := r.Run(ctx)
		if !errors.Is(err, schedule.ErrInterrupted) || len(*worked) != 1 {
			t.Errorf("%v, it works on %v", err, *worked)
		}
		if !slices.ContainsFunc(tick.Warnings, func(w string) bool {
			return strings.HasPrefix(w, "over now: ") && strings.Contains(w, "workspace_root_gone") && strings.Contains(w, "read-only")
		}) || len(tick.Errors) > 0 {
			t.Errorf("warnings %q, errors %q", tick.Warnings, tick.Errors)
		}
	})
}
