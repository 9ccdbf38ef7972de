package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// watch runs a single tick and returns everything that was shown of it.
func (f *fixture) watch() []progress.Progress {
	f.t.Helper()
	var seen []progress.Progress
	r := f.run()
	r.Progress = func(p progress.Progress) { seen = append(seen, p) }
	if _, err := r.Run(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	return seen
}

func TestTheDisplayGetsWhatRunsAndWhatHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-10", "Todo"), issue("A-9", "Todo"))
		f.flow.now.Settings.Codex.Choice = codex.Choice{Model: "big", Effort: "high"}
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			report(attempt.Update{At: time.Now(), Event: "notification", Summary: "running `make`", Doing: "running `make`"})
			passes(ctx, time.Second)
			report(attempt.Update{At: time.Now(), Event: "turn_completed", Summary: "the turn is complete"})
			return f.handOver(ctx, job, report)
		}
		seen := f.watch()
		var names, events []string
		last := seen[len(seen)-1]
		for _, p := range seen {
			if len(p.Sessions) == 2 && p.Sessions[0].Event == "turn_completed" && p.Sessions[1].Event == "turn_completed" && names == nil {
				for _, s := range p.Sessions {
					names = append(names, s.Claim.Identifier+" "+s.Doing+" with the "+s.Choice+", "+s.Events[len(s.Events)-1].Kind)
				}
			}
		}
		if diff := cmp.Diff([]string{"A-9 running `make` with the model big, effort high, as for all issues (codex), turn_completed", "A-10 running `make` with the model big, effort high, as for all issues (codex), turn_completed"}, names); diff != "" {
			t.Errorf("the sessions: %s", diff)
		}
		for _, e := range last.Events {
			if e.Identifier == "A-9" {
				events = append(events, e.Kind)
			}
		}
		if diff := cmp.Diff([]string{"dispatched", "completed"}, events); diff != "" {
			t.Errorf("what happened to A-9: %s", diff)
		}
		if last.Slots != 10 || last.NextPoll.IsZero() || last.Workflow != "WORKFLOW.md" || last.Tracker != "file" {
			t.Errorf("shown: %+v", last)
		}
	})
}

func TestTheDisplayGetsTheIssuesThatWaitForASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issues := []tracker.Issue{issue("A-1", "Todo")}
		for n := range 100 {
			issues = append(issues, issue(fmt.Sprint("A-", n+2), "Todo"))
		}
		f := newFixture(t, issues...)
		f.flow.change(func(s *workflow.Settings) { s.Policy.MaxConcurrent = 1 }, nil)
		f.edit(func(s *schedule.State) {
			for _, id := range []string{"A-50", "A-60"} {
				s.Claims[tracker.ID(id)] = schedule.Claim{ID: tracker.ID(id), Identifier: id, Phase: schedule.Waiting, Due: time.Now(), Attempt: 1, Why: "turn_failed"}
			}
		})
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			passes(ctx, time.Second)
			return f.handOver(ctx, job, report)
		}
		var queue progress.Queue
		var held map[tracker.ID]schedule.Why
		for _, p := range f.watch() {
			if len(p.Sessions) == 1 && queue.Length == 0 {
				queue, held = p.Queue, p.Held
			}
		}
		if queue.Length != 99 || len(queue.Next) != progress.MaxNext || queue.Next[0].Identifier != "A-1" || queue.Listed.IsZero() {
			t.Errorf("%d in the queue, %d named: %+v", queue.Length, len(queue.Next), queue)
		}
		if len(held) != 1 || held["A-60"].Reason != schedule.NoSlots {
			t.Errorf("held: %v", held)
		}
	})
}

func TestManyUpdatesAreShownTenTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			for n := range 1000 {
				report(attempt.Update{At: time.Now(), Event: "notification", Summary: "step", Doing: fmt.Sprint("step ", n)})
				passes(ctx, time.Millisecond)
			}
			passes(ctx, time.Second)
			return f.handOver(ctx, job, report)
		}
		seen := f.watch()
		if len(seen) > 20 { // one second of updates
			t.Errorf("shown %d times", len(seen))
		}
		var doing string
		for _, p := range seen {
			for _, s := range p.Sessions {
				doing = s.Doing
			}
		}
		if doing != "step 999" {
			t.Errorf("the last update that was shown is %q", doing)
		}
	})
}

func TestTheFirstThingThatIsShownIsWhatEarlierRunsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		f.edit(func(s *schedule.State) {
			s.Claims["1"] = schedule.Claim{ID: "1", Identifier: "A-1", Phase: schedule.Waiting, Due: time.Now().Add(time.Hour)}
			s.Claims["2"] = schedule.Claim{ID: "2", Identifier: "A-2", Phase: schedule.Parked, Why: "which bank?"}
		})
		first := f.watch()[0]
		if len(first.Waiting) != 1 || len(first.Parked) != 1 || !first.NextPoll.IsZero() || first.Root != f.root.Path() || first.Comments != (schedule.Comments{}) {
			t.Errorf("shown first: %+v", first)
		}
	})
}

func TestTheDisplayGetsWhatKeepsWorkFromStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		r := f.run()
		r.Once = false
		var seen []progress.Progress
		r.Progress = func(p progress.Progress) { seen = append(seen, p) }
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, func() { f.flow.change(func(*workflow.Settings) {}, errors.New("no prompt")) })
		time.AfterFunc(2*time.Minute, cancel)
		_, _ = r.Run(ctx) // interrupted, as every service ends
		want := []progress.Trouble{{Source: progress.Workflow, Text: "no prompt"}}
		if diff := cmp.Diff(want, seen[len(seen)-1].Trouble); diff != "" {
			t.Error(diff)
		}
	})
}

// TestAServiceShowsThatItsStateCannotBeSavedUntilItCan has each failure name another file, as
// the store's do.
func TestAServiceShowsThatItsStateCannotBeSavedUntilItCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		began, n, last := time.Now(), 0, ""
		f.store.fail = func() error {
			if time.Since(began) > 5*time.Minute {
				return nil
			}
			n++
			last = fmt.Sprintf("state-%d: no space left on device", n)
			return errors.New(last)
		}
		r := f.run()
		r.Once = false
		var during, after []progress.Trouble
		r.Progress = func(p progress.Progress) {
			if len(f.claims()) == 0 && time.Since(began) < 5*time.Minute {
				during = p.Trouble
			}
			after = p.Trouble
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Minute, cancel)
		tick, err := r.Run(ctx)
		if !errors.Is(err, schedule.ErrInterrupted) || tick.Spent.Sessions != 1 {
			t.Errorf("ended with %v after %d sessions", err, tick.Spent.Sessions)
		}
		if diff := cmp.Diff([]progress.Trouble{{Source: progress.State, Text: last}}, during); diff != "" || n < 2 {
			t.Errorf("shown after %d failures (-want +got):\n%s", n, diff)
		}
		if len(after) != 0 || len(tick.Errors) != 0 || !slices.Equal(tick.Warnings, []string{"over now: " + last}) {
			t.Errorf("once it is saved: shown %v, errors %q, warnings %q", after, tick.Errors, tick.Warnings)
		}
	})
}

func TestASessionThatAsksIsNotShownAsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.sessions = func(ctx context.Context, _ attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			passes(ctx, time.Second)
			return schedule.Outcome{Class: schedule.NeedsInput, Why: "the agent asks: Which bank?", Question: "Which bank?"}
		}
		seen := f.watch()
		last := seen[len(seen)-1]
		var events []string
		for _, e := range last.Events {
			events = append(events, e.Kind)
		}
		if diff := cmp.Diff([]string{"dispatched", "parked"}, events); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[tracker.ID]string{"A-1": "Which bank?"}, last.Asked); diff != "" {
			t.Errorf("questions: %s", diff)
		}
		if log := f.log.String(); strings.Contains(log, "msg=failed") || !strings.Contains(log, `msg="asks a person" issue_id=A-1`) {
			t.Errorf("the log:\n%s", log)
		}
	})
}

func TestWhatIsParkedWhenItsSessionEndsIsShownAndLoggedWithTheReason(t *testing.T) {
	for reason, end := range map[string]schedule.Outcome{
		"1 session in a row changed nothing (budget.max_idle_sessions)":                  {Class: schedule.Done, Idle: true},
		"1 failure in a row (budget.max_attempts_per_issue), the last: the build is red": {Class: schedule.IssueFailed, Why: "the build is red"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, issue("A-1", "Todo"))
			f.flow.change(func(s *workflow.Settings) { s.Policy.Budget.IdleSessions, s.Policy.Budget.Attempts = 1, 1 }, nil)
			f.sessions = func(ctx context.Context, _ attempt.Job, _ func(attempt.Update)) schedule.Outcome {
				passes(ctx, time.Second)
				return end
			}
			seen := f.watch()
			events := seen[len(seen)-1].Events
			if last := events[len(events)-1]; last.Kind != "parked" || last.Text != reason {
				t.Errorf("shown: %q %q, want %q", last.Kind, last.Text, reason)
			}
			if log := f.log.String(); !strings.Contains(log, fmt.Sprintf("next=parked reason=%q", reason)) {
				t.Errorf("the log has no %q:\n%s", reason, log)
			}
		})
	}
}

func TestTheDisplayGetsWhatOthersWorkOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		shard := schedule.Owner{Run: "123", Attempt: 1, Shard: 3}
		f.edit(func(s *schedule.State) {
			s.Apply(schedule.Decision{Action: schedule.Dispatch, ID: "A-1", Issue: issue("A-1", "Todo"), Owner: shard, Lease: time.Hour}, time.Now())
		})
		here := 0
		for _, p := range f.watch() {
			here += len(p.Sessions)
			if len(p.Elsewhere) != 1 || p.Elsewhere[0].Identifier != "A-1" || progress.Place(p.Elsewhere[0].Owner) != "shard 3 of run 123" {
				t.Fatalf("elsewhere: %+v", p.Elsewhere)
			}
		}
		if here == 0 {
			t.Error("nothing ran here")
		}
	})
}

func TestABudgetThatIsSpentIsShownAndLoggedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		budget schedule.Budget
		want   string
	}{
		"of the day":  {schedule.Budget{TokensPerDay: 100}, "budget.max_tokens_per_day is spent until 2000-01-02T00:00:00Z"},
		"of the tick": {schedule.Budget{TokensPerTick: 100}, "budget.max_tokens_per_tick is spent"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"), issue("A-3", "Todo"))
				f.flow.now.Settings.Policy.MaxConcurrent, f.flow.now.Settings.Policy.Budget = 1, c.budget
				f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
					o := f.handOver(ctx, job, report)
					o.Usage = schedule.Usage{Input: 100}
					return o
				}
				var shown [][]progress.Trouble
				r := f.run()
				r.Progress = func(p progress.Progress) { shown = append(shown, p.Trouble) }
				if _, err := r.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				if first, last := shown[0], shown[len(shown)-1]; len(first) != 0 || !slices.Equal(last, []progress.Trouble{{Source: progress.Budget, Text: c.want}}) {
					t.Errorf("shown at first %q, at last %q, want %q", first, last, c.want)
				}
				if n := strings.Count(f.log.String(), c.want); n != 1 {
					t.Errorf("logged %d times:\n%s", n, f.log)
				}
			})
		})
	}
}
