package runner_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
)

func TestAFailedPreflightStartsNothingAndChargesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		w.sessions = func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
			t.Error("a session was started")
			return schedule.Outcome{}
		}
		asked := 0
		r := w.run()
		r.Preflight = func(context.Context, workflow.Workflow) error {
			asked++
			return errors.New("sandbox_unavailable: mend it")
		}
		tick, err := r.Run(t.Context())
		if err != nil || asked != 1 || len(w.claims()) != 0 {
			t.Errorf("ended with %v, asked %d times, claims %v", err, asked, w.claims())
		}
		if !slices.Equal(tick.Errors, []string{"sandbox_unavailable: mend it"}) {
			t.Errorf("the errors are %q", tick.Errors)
		}
	})
}

func TestThePreflightIsAskedOnceForATickAndNotForAnEmptyOne(t *testing.T) {
	for issues, want := range map[int]int{0: 0, 3: 1} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			for _, identifier := range []string{"A-1", "A-2", "A-3"}[:issues] {
				w.board.issues = append(w.board.issues, issue(identifier, "Todo"))
			}
			w.flow.now.Settings.Policy.MaxConcurrent = 1
			w.sessions = w.handOver
			asked := 0
			r := w.run()
			r.Preflight = func(context.Context, workflow.Workflow) error { asked++; return nil }
			tick, err := r.Run(t.Context())
			if err != nil || len(tick.Errors) != 0 || asked != want {
				t.Errorf("%d issues: asked %d times, want %d: %v, %v", issues, asked, want, err, tick.Errors)
			}
		})
	}
}

func TestAServiceTriesAFailedPreflightAgainAtTheNextPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, issue("A-1", "Todo"))
		ctx, cancel := context.WithCancel(t.Context())
		w.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			defer cancel()
			return w.handOver(ctx, job, report)
		}
		r := w.run()
		r.Once = false
		asked := 0
		r.Preflight = func(context.Context, workflow.Workflow) error {
			if asked++; asked < 3 {
				return errors.New("not yet")
			}
			return nil
		}
		began := time.Now()
		_, err := r.Run(ctx)
		if !errors.Is(err, schedule.Interrupted) || asked != 3 || time.Since(began) < 2*w.flow.now.Settings.Poll {
			t.Errorf("ended with %v after %v, asked %d times", err, time.Since(began), asked)
		}
	})
}

func TestWhatASessionWarnsOfIsInTheReportOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		w.flow.now.Settings.Codex.ThreadSandbox = []byte(`"danger-full-access"`)
		w.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			report(attempt.Update{At: time.Now(), Warnings: []string{"this Codex is too old"}})
			return w.handOver(ctx, job, report)
		}
		tick := w.tick(t.Context())
		if len(tick.Warnings) != 2 || !strings.Contains(tick.Warnings[0], "codex.thread_sandbox") || tick.Warnings[1] != "this Codex is too old" {
			t.Errorf("the warnings are %q", tick.Warnings)
		}
	})
}
