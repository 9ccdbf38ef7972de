package runner_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
)

func TestASystemicFailureIsOverWithItsPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		tries := 0
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			if tries++; tries == 1 {
				return schedule.Outcome{Class: schedule.Systemic, Why: "turn_failed: usageLimitExceeded", Turns: 1, RetryAt: time.Now().Add(time.Hour)}
			}
			return f.handOver(ctx, job, report)
		}
		r := f.run()
		r.Once = false
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Hour, cancel)
		tick, err := r.Run(ctx)
		if !errors.Is(err, schedule.ErrInterrupted) || tries != 2 {
			t.Errorf("ended with %v after %d sessions", err, tries)
		}
		if want := []string{"over now: turn_failed: usageLimitExceeded"}; len(tick.Errors) != 0 || !slices.Equal(tick.Warnings, want) {
			t.Errorf("errors %q, warnings %q", tick.Errors, tick.Warnings)
		}
	})
}

func TestASystemicFailureStopsDispatchAndCountsAgainstNoIssue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		f.flow.now.Settings.Policy.MaxConcurrent = 1
		until := time.Now().Add(2 * time.Hour)
		f.sessions = func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
			return schedule.Outcome{Class: schedule.Systemic, Why: "turn_failed: usageLimitExceeded", Turns: 1, RetryAt: until}
		}
		tick := f.tick(t.Context())
		if tick.Spent.Sessions != 1 || !tick.Pause.Until.Equal(until) || len(tick.Errors) != 1 {
			t.Errorf("%d sessions, pause %+v, errors %q", tick.Spent.Sessions, tick.Pause, tick.Errors)
		}
		if !tick.NextDue.Equal(until) {
			t.Errorf("a retry is due at %v, before the pause ends at %v", tick.NextDue, until)
		}
		if c := f.claims()["A-1"]; c.Failures != 0 {
			t.Errorf("A-1 was charged: %+v", c)
		}
		if tick := f.tick(t.Context()); tick.Spent.Sessions != 0 {
			t.Errorf("the next tick started %d sessions during the pause", tick.Spent.Sessions)
		}
		<-time.After(3 * time.Hour)
		if tick := f.tick(t.Context()); tick.Spent.Sessions != 1 {
			t.Errorf("after the pause %d sessions tried, want 1", tick.Spent.Sessions)
		}
	})
}

func TestAHookThatFailsForEveryIssueIsSystemicUntilItIsEdited(t *testing.T) {
	for name, interfere := range map[string]func(*fixture){
		"alone": func(*fixture) {},
		"while another run saves in between": func(f *fixture) {
			f.edit(func(s *schedule.State) { s.Days = append(s.Days, schedule.Day{Date: "2000-01-01", Sessions: 1}) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"), issue("A-3", "Todo"))
				settings := &f.flow.now.Settings
				settings.Policy.MaxConcurrent, settings.Policy.Budget.Attempts = 1, 1
				settings.Workspace.Hooks.AfterCreate = "git clone nowhere"
				f.sessions = func(_ context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
					if job.Issue.ID == "A-2" {
						interfere(f)
					}
					const kind = "hook after_create: hook_failed: exit status 128"
					return schedule.Outcome{Class: schedule.IssueFailed, Fault: kind, Why: kind + "; its output names " + string(job.Issue.ID)}
				}
				tick := f.tick(t.Context())
				if tick.Spent.Sessions != 2 || len(tick.Parked) != 0 || tick.Pause.Why == "" || len(tick.Errors) != 1 {
					t.Errorf("%d sessions, parked %v, pause %+v, errors %q", tick.Spent.Sessions, tick.Parked, tick.Pause, tick.Errors)
				}
				for _, row := range tick.Rows {
					if row.Class != schedule.Systemic || row.Next.Phase != schedule.Waiting {
						t.Errorf("the row of %s: %s, then %+v", row.Identifier, row.Class, row.Next)
					}
				}
				for id, c := range f.claims() {
					if c.Failures != 0 || c.Phase != schedule.Waiting {
						t.Errorf("%s was charged: %+v", id, c)
					}
				}
				worked := f.noteWork()
				if f.tick(t.Context()); len(*worked) != 0 {
					t.Errorf("in the pause it works on %v", *worked)
				}
				f.flow.change(func(s *workflow.Settings) { s.Workspace.Hooks.AfterCreate = "git clone somewhere" }, nil)
				if f.tick(t.Context()); len(*worked) != 3 {
					t.Errorf("after the edit it works on %v", *worked)
				}
			})
		})
	}
}

func TestAnIssueParkedForAHookIsReleasedWhenTheHookIsEdited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.flow.now.Settings.Policy.Budget.Attempts = 1
		f.sessions = func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
			return schedule.Outcome{Class: schedule.IssueFailed, Fault: "hook before_run: hook_failed: exit status 1", Why: "hook before_run"}
		}
		if f.tick(t.Context()); f.claims()["A-1"].Phase != schedule.Parked {
			t.Fatalf("not parked: %+v", f.claims())
		}
		worked := f.noteWork()
		if f.tick(t.Context()); len(*worked) != 0 {
			t.Errorf("nothing was edited, and it works on %v", *worked)
		}
		f.flow.change(func(s *workflow.Settings) { s.Workspace.Hooks.BeforeRun = "true" }, nil)
		if f.tick(t.Context()); len(*worked) != 1 {
			t.Error("it stays parked after the edit")
		}
	})
}

func TestAPromptThatFailsForEveryIssueIsSystemic(t *testing.T) {
	const typo = "{{ issue.titel }}"
	t.Run("as the tick begins", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, issue("A-1", "Todo"))
			f.flow.now.Prompt = typo
			tick, err := f.run().Run(t.Context())
			if !errors.Is(err, prompt.ErrRender) || !strings.HasPrefix(err.Error(), "WORKFLOW.md: ") || tick.Acted > 0 || len(f.board.reads) > 0 || f.store.saves > 0 {
				t.Errorf("%v after %d acts, %d reads, %d saves", err, tick.Acted, len(f.board.reads), f.store.saves)
			}
		})
	})
	t.Run("edited while a service runs, until it is right again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
			r := f.run()
			r.Once = false
			var prompts []string
			f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
				prompts = append(prompts, string(job.Issue.ID)+" "+job.Prompt) // one at a time: there is one slot
				return f.handOver(ctx, job, report)
			}
			f.flow.now.Settings.Policy.MaxPerTick = 1
			f.flow.now.Prompt = "good"
			edit := func(text string) func() {
				return func() {
					f.flow.mu.Lock()
					defer f.flow.mu.Unlock()
					f.flow.now.Prompt = text
				}
			}
			time.AfterFunc(10*time.Second, edit(typo))
			time.AfterFunc(5*time.Minute, edit("good again"))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			if _, err := r.Run(ctx); !errors.Is(err, schedule.ErrInterrupted) {
				t.Error(err)
			}
			if diff := cmp.Diff([]string{"A-1 good", "A-2 good again"}, prompts); diff != "" {
				t.Errorf("sessions (-want +got):\n%s", diff)
			}
			if n := strings.Count(f.log.String(), "workflow is invalid"); n != 1 {
				t.Errorf("it is said %d times:\n%s", n, f.log)
			}
		})
	})
}
