package runner_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

func TestAnInterruptedRunKeepsItsClaimsWithoutACharge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.sessions = func(ctx context.Context, _ attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			passes(ctx, time.Hour)
			if cause := context.Cause(ctx); cause != schedule.ErrInterrupted {
				t.Errorf("stopped for %v", cause)
			}
			return stopped(ctx)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		tick, err := f.run().Run(ctx)
		if !errors.Is(err, schedule.ErrInterrupted) || tick.Stopped != "interrupted" {
			t.Errorf("ended with %v, %q", err, tick.Stopped)
		}
		c := f.claims()["A-1"]
		if c.Phase != schedule.Waiting || c.Failures != 0 || c.Thread != "thread" || c.Due.After(time.Now()) {
			t.Errorf("the claim is %+v", c)
		}
		if log := f.log.String(); !strings.Contains(log, "msg=stopped issue_id=A-1") || !strings.Contains(log, `reason="the run was interrupted"`) || strings.Contains(log, "reason=\"stopped: ") {
			t.Errorf("the log does not say in words why the session was stopped:\n%s", log)
		}
		// A session may take seconds to end: until then nothing else says that the interruption was heard.
		log, _, _ := strings.Cut(f.log.String(), "msg=stopped issue_id=A-1")
		if !strings.Contains(log, "interrupted: ending sessions") || !strings.Contains(log, "interrupt again to kill them") || !strings.Contains(log, "sessions=1") {
			t.Errorf("the log does not say what is being ended:\n%s", log)
		}
	})
}

func TestAnInterruptedRunGivesTheInterruptionAsTheReasonForWhatItLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		f.flow.now.Settings.Policy.MaxConcurrent = 1
		f.sessions = func(ctx context.Context, _ attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			passes(ctx, time.Hour)
			return stopped(ctx)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		r := f.run()
		var last progress.Progress
		r.Progress = func(p progress.Progress) { last = p }
		tick, _ := r.Run(ctx)
		if len(tick.Verdicts) != 2 {
			t.Fatalf("verdicts %+v", tick.Verdicts)
		}
		for _, v := range tick.Verdicts {
			if v.Why.Reason != schedule.Interrupted || v.Why.Detail != "the run was interrupted" {
				t.Errorf("%s is left because %+v", v.Issue.Identifier, v.Why)
			}
		}
		if last.NoRoom.Reason != schedule.Interrupted || len(last.Waiting) != 1 {
			t.Errorf("the display says %+v of %+v", last.NoRoom, last.Waiting)
		}
	})
}

func TestAnAgentThatAPollOvertookHasHandedItsIssueOver(t *testing.T) {
	for state, want := range map[string]string{"Review": "handed over (Review)", "Done": "done (Done)"} {
		t.Run(state, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, issue("A-1", "Todo"))
				f.sessions = func(ctx context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
					passes(ctx, time.Minute)
					f.board.move("A-1", state)
					passes(ctx, time.Hour)
					return stopped(ctx)
				}
				tick := f.tick(t.Context())
				text := report.Of(tick).Text(160)
				if c := tick.Counts(); c.Completed != 1 || c.Failed != 0 || !strings.Contains(text, want) ||
					!strings.Contains(text, "1 handed over") || strings.Contains(text, "stopped") || strings.Contains(text, "Todo") {
					t.Errorf("%+v\n%s", c, text)
				}
			})
		})
	}
}

func TestAnIssueThatALaterPlanParkedIsNotCompleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.flow.now.Settings.Policy.Budget.TokensPerIssue = 1000
		f.sessions = func(ctx context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			passes(ctx, time.Second)
			f.flow.change(func(s *workflow.Settings) { s.Policy.Budget.TokensPerIssue = 100 }, nil)
			return schedule.Outcome{Class: schedule.Done, Issue: &job.Issue, Turns: 1, Usage: schedule.Usage{Input: 500}}
		}
		tick := f.tick(t.Context())
		if c := tick.Counts(); c.Completed != 0 || c.Parked != 1 || !strings.Contains(report.Of(tick).Text(160), ": 1 parked") {
			t.Errorf("%+v\n%s", c, report.Of(tick).Text(160))
		}
	})
}

func TestARunningStopKeepsItsReasonWhenTheRunIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		ctx, cancel := context.WithCancel(t.Context())
		f.sessions = func(session context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			f.board.move("A-1", "Review")
			passes(session, time.Hour)
			cancel() // while the session ends
			<-time.After(time.Second)
			return stopped(session)
		}
		if _, err := f.run().Run(ctx); !errors.Is(err, schedule.ErrInterrupted) {
			t.Errorf("ended with %v", err)
		}
		if c, claimed := f.claims()["A-1"]; claimed {
			t.Errorf("the claim is %+v", c)
		}
	})
}

// TestAKilledRunDoesNotWaitForASessionThatDoesNotEnd has a session that no stop ends. The
// first interruption waits for it, in bounded time; a second one waits for a moment.
func TestAKilledRunDoesNotWaitForASessionThatDoesNotEnd(t *testing.T) {
	for name, test := range map[string]struct {
		kill     time.Duration // after the interruption; 0 for never
		min, max time.Duration
	}{
		"interrupted": {0, attempt.StopTime, 5 * time.Minute},
		"killed":      {10 * time.Second, 10 * time.Second, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, issue("A-1", "Todo"))
				release := make(chan struct{})
				defer close(release)
				f.sessions = func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
					<-release
					return schedule.Outcome{Class: schedule.Stopped}
				}
				killed := make(chan struct{})
				r := f.run()
				r.Killed = killed
				ctx, cancel := context.WithCancel(t.Context())
				var interrupted time.Time
				time.AfterFunc(time.Minute, func() {
					interrupted = time.Now()
					cancel()
					if test.kill > 0 {
						time.AfterFunc(test.kill, func() { close(killed) })
					}
				})
				tick, err := r.Run(ctx)
				if took := time.Since(interrupted); !errors.Is(err, schedule.ErrInterrupted) || took < test.min || took > test.max {
					t.Errorf("ended after %v with %v", took, err)
				}
				if c := f.claims()["A-1"]; !c.Phase.HasSession() || c.Owner != r.Self {
					t.Errorf("the next run cannot adopt the claim %+v", c)
				}
				if !slices.ContainsFunc(tick.Warnings, func(w string) bool { return strings.Contains(w, "did not end (sessions: 1") }) {
					t.Errorf("the report says %q", tick.Warnings)
				}
			})
		})
	}
}

func TestTheLogOfASessionIsPassedOnWhenItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			say := func(u attempt.Update) { u.At = time.Now(); report(u) }
			for _, text := range []string{"running `ls`", "running `ls`", "", "done"} {
				say(attempt.Update{Summary: text})
			}
			say(attempt.Update{Summary: "20 tokens used", Update: schedule.Update{Usage: schedule.Usage{Input: 20}}})
			for i := range 200 {
				say(attempt.Update{Summary: fmt.Sprint("line ", i)})
			}
			return f.handOver(ctx, job, report)
		}
		var told []runner.SessionLog
		r := f.run()
		r.OnSession = func(start runner.SessionStart) func(runner.SessionLog) {
			if start.Claim.Sessions != 1 || start.Branch != "" || start.Workspace != filepath.Join(f.root.Path(), "A-1") {
				t.Errorf("it begins as %+v", start)
			}
			return func(s runner.SessionLog) { told = append(told, s) }
		}
		if _, err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(told) != 1 {
			t.Fatalf("%d stories", len(told))
		}
		s := told[0]
		if s.Claim.Identifier != "A-1" || s.Outcome.Class != schedule.Done || s.Took != time.Second || s.Omitted != 2 ||
			len(s.Lines) != 200 || s.Lines[0] != "line 0" || s.Lines[199] != "line 199" {
			t.Errorf("%s %s in %v, %d lines after %d: %q", s.Claim.Identifier, s.Outcome.Class, s.Took, len(s.Lines), s.Omitted, s.Lines)
		}
	})
}

func TestATickThatCannotReadTheTrackerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.board.listed = func() error { return errDown }
		tick, err := f.run().Run(t.Context())
		if !errors.Is(err, errDown) || tick.Listed {
			t.Errorf("ended with %v, listed %v", err, tick.Listed)
		}
	})
}

func TestAFailedRefreshKeepsSessionsRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.board.read = func() error { return errDown }
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			if !passes(ctx, 2*time.Minute) {
				t.Errorf("stopped for %v", context.Cause(ctx))
			}
			f.board.mu.Lock()
			f.board.read = nil
			f.board.mu.Unlock()
			passes(ctx, time.Minute)
			return f.handOver(ctx, job, report)
		}
		tick := f.tick(t.Context())
		if tick.Counts().Completed != 1 || len(tick.Errors) != 0 {
			t.Errorf("completed %d, errors %q", tick.Counts().Completed, tick.Errors)
		}
		if want := []string{"over now: refresh claimed issues: " + errDown.Error()}; !slices.Equal(tick.Warnings, want) {
			t.Errorf("warnings %q, want %q", tick.Warnings, want)
		}
	})
}

func TestTheReportOfAServiceHasAllTicksAndTheProblemsThatRemain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"), issue("A-3", "Todo"))
		f.flow.now.Settings.Policy.MaxConcurrent = 1
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			passes(ctx, 45*time.Second)
			return f.handOver(ctx, job, report)
		}
		r := f.run()
		r.Once = false
		ctx, cancel := context.WithCancel(t.Context())
		down := func(err error) func() {
			return func() {
				f.board.mu.Lock()
				f.board.listed = func() error { return err }
				f.board.mu.Unlock()
			}
		}
		time.AfterFunc(5*time.Minute, down(errDown))
		time.AfterFunc(7*time.Minute, down(nil))
		time.AfterFunc(10*time.Minute, func() { f.flow.change(func(*workflow.Settings) {}, workflow.ErrParse) })
		time.AfterFunc(12*time.Minute, func() { f.flow.change(func(*workflow.Settings) {}, nil) })
		bad := workflow.Problems{{Line: 3, Reason: "the first"}, {Line: 9, Reason: "the second"}}
		time.AfterFunc(20*time.Minute, func() { f.flow.change(func(*workflow.Settings) {}, fmt.Errorf("workflow W.md: %w", bad)) })
		time.AfterFunc(30*time.Minute, cancel)
		tick, err := r.Run(ctx)
		if !errors.Is(err, schedule.ErrInterrupted) {
			t.Errorf("ended with %v", err)
		}
		if c := tick.Counts(); c.Dispatched != 3 || c.Completed != 3 || tick.Spent.Usage.Total() != 360 || tick.Spent.Time != 138*time.Second {
			t.Errorf("counted %+v, %+v", c, tick.Spent)
		}
		if past := f.state().History; len(past) != 1 || past[0].Tokens != 360 {
			t.Errorf("remembered %+v", past)
		}
		if diff := cmp.Diff([]string{"workflow W.md: invalid_workflow_config: line 3: the first; line 9: the second"}, tick.Errors); diff != "" {
			t.Errorf("errors (-want +got):\n%s", diff)
		}
		want := []string{"over now: list candidates: " + errDown.Error(), "over now: " + workflow.ErrParse.Error()}
		if diff := cmp.Diff(want, tick.Warnings); diff != "" {
			t.Errorf("warnings (-want +got):\n%s", diff)
		}
		spent := regexp.MustCompile(`(?m)^This run +360 +3 `)
		if text := report.Of(tick).Text(160); !strings.Contains(text, "360 tokens") || !spent.MatchString(text) {
			t.Errorf("the report says:\n%s", text)
		}
	})
}

// TestOnlyTheReportOfAServiceIsBounded works on more issues than the report of a service
// holds. The first one is parked, so that its claim keeps its row.
func TestOnlyTheReportOfAServiceIsBounded(t *testing.T) {
	const issues, held = 520, 500
	for name, c := range map[string]struct {
		once bool
		rows int
	}{"single tick": {true, issues}, "service": {false, held + 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var all []tracker.Issue
				for n := range issues {
					all = append(all, issue(fmt.Sprintf("A-%d", n+1), "Todo"))
				}
				f := newFixture(t, all...)
				f.flow.now.Settings.Policy.MaxConcurrent, f.flow.now.Settings.Policy.MaxPerTick = 100, issues
				f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
					if job.Issue.ID == "A-1" {
						return schedule.Outcome{Class: schedule.NeedsInput, Why: "the agent asks: Which bank?", Question: "Which bank?"}
					}
					return f.handOver(ctx, job, report)
				}
				r := f.run()
				r.Once = c.once
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				tick, err := r.Run(ctx)
				if err != nil && !errors.Is(err, schedule.ErrInterrupted) {
					t.Fatal(err)
				}
				if n := tick.Counts(); len(tick.Rows) != c.rows || tick.Worked() != issues || n.Dispatched != issues || n.Completed != issues-1 || n.Parked != 1 || tick.Rows[0].ID != "A-1" {
					t.Errorf("%d rows, want %d; worked on %d, counts %+v", len(tick.Rows), c.rows, tick.Worked(), n)
				}
				if past := f.state().History; len(past) != 1 || past[0].Sessions != issues || past[0].Done != issues-1 || past[0].Parked != 1 {
					t.Errorf("remembered %+v", past)
				}
			})
		})
	}
}

func TestTheClaimsOfADeadRunAreAdopted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.edit(func(s *schedule.State) {
			s.Self = schedule.Owner{Run: "dead"}
			s.Apply(schedule.Decision{Action: schedule.Dispatch, ID: "A-1", Issue: issue("A-1", "Todo")}, time.Now())
		})
		if tick := f.tick(t.Context()); tick.Spent.Sessions != 0 {
			t.Error("a claim was taken from an owner that may be alive")
		}
		r := f.run()
		r.OwnerStatuses = eachOwner(func(context.Context, schedule.Owner) schedule.OwnerStatus { return schedule.Dead })
		tick, err := r.Run(t.Context())
		if err != nil || tick.Counts().Completed != 1 || tick.Rows[0].Attempt != 1 {
			t.Errorf("ended with %v and %+v", err, tick.Rows)
		}
	})
}

func TestATurnThatPassesATokenLimitIsStoppedAndParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.flow.now.Settings.Policy.Budget.TokensPerIssue = 1000
		f.sessions = func(ctx context.Context, _ attempt.Job, report func(attempt.Update)) schedule.Outcome {
			spent := schedule.Usage{}
			for passes(ctx, time.Second) {
				spent.Input += 400
				report(attempt.Update{At: time.Now(), Update: schedule.Update{Alive: true, Usage: spent, Turns: 1}})
			}
			o := stopped(ctx)
			o.Usage = spent
			return o
		}
		f.tick(t.Context())
		c := f.claims()["A-1"]
		if c.Phase != schedule.Parked || c.Tokens != 1200 {
			t.Errorf("the claim is %+v", c)
		}
	})
}

func TestAPlanChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Review"), issue("A-3", "Done"))
		f.prepare("A-3")
		f.store.fail = func() error { t.Error("a plan was saved"); return nil }
		f.sessions = func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
			t.Error("a plan was performed")
			return schedule.Outcome{Class: schedule.Done}
		}
		tick, err := f.run().Plan(t.Context())
		if err != nil || len(tick.Verdicts) != 1 || tick.Verdicts[0].Action != schedule.Dispatch {
			t.Errorf("planned %+v, %v", tick.Verdicts, err)
		}
		if diff := cmp.Diff([]string{"A-3"}, f.keys()); diff != "" {
			t.Errorf("workspaces (-want +got):\n%s", diff)
		}
	})
}

func TestAServiceKeepsPollingAndPicksUpChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		r := f.run()
		r.Once = false
		var seen []progress.Progress
		r.Progress = func(p progress.Progress) { seen = append(seen, p) }
		refresh := make(chan struct{}, 1)
		r.Refresh = refresh
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute+time.Second, func() {
			f.board.mu.Lock()
			defer f.board.mu.Unlock()
			f.board.issues = append(f.board.issues, issue("A-1", "Todo"))
		})
		time.AfterFunc(2*time.Minute, func() {
			f.flow.change(func(s *workflow.Settings) { s.Poll = time.Hour }, nil)
		})
		time.AfterFunc(3*time.Minute, func() {
			f.board.mu.Lock()
			f.board.issues = append(f.board.issues, issue("A-2", "Todo"))
			f.board.mu.Unlock()
			refresh <- struct{}{}
		})
		time.AfterFunc(10*time.Minute, cancel)
		if _, err := r.Run(ctx); !errors.Is(err, schedule.ErrInterrupted) {
			t.Errorf("ended with %v", err)
		}
		for _, id := range []tracker.ID{"A-1", "A-2"} {
			if f.board.move(id, "Review").State != "Review" || !strings.Contains(f.log.String(), "msg=completed issue_id="+string(id)) {
				t.Errorf("%s was not worked on:\n%s", id, f.log)
			}
		}
		if lists := count(f.board.reads, "list"); lists > 8 {
			t.Errorf("%d lists: the longer interval was not taken up", lists)
		}
		if len(seen) == 0 {
			t.Error("nobody was told of the progress")
		}
	})
}

// TestAChangedWorkflowCountsAtOnce changes WORKFLOW.md between two polls, in a service in
// which nothing runs and in a tick whose session goes on.
func TestAChangedWorkflowCountsAtOnce(t *testing.T) {
	for _, once := range []bool{true, false} {
		t.Run(fmt.Sprintf("once=%v", once), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Ready"))
				f.flow.now.Settings.Poll = time.Hour
				worked := map[tracker.ID]time.Time{}
				var mu sync.Mutex
				f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
					mu.Lock()
					worked[job.Issue.ID] = time.Now()
					mu.Unlock()
					passes(ctx, 10*time.Minute)
					return f.handOver(ctx, job, report)
				}
				var changed time.Time
				time.AfterFunc(5*time.Minute+300*time.Millisecond, func() {
					changed = time.Now()
					f.flow.change(func(s *workflow.Settings) { s.Policy.ActiveStates = []string{"Todo", "Ready"} }, nil)
				})
				r := f.run()
				r.Once = once
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
				defer cancel()
				if _, err := r.Run(ctx); err != nil && !errors.Is(err, schedule.ErrInterrupted) {
					t.Fatal(err)
				}
				if late := worked["A-2"].Sub(changed); late < 0 || late > 2*time.Second {
					t.Errorf("A-2 was started %v after the change", late)
				}
			})
		})
	}
}

func (f *fixture) prepare(identifier string) {
	f.t.Helper()
	if _, err := f.root.Prepare(f.t.Context(), workspace.Issue{ID: identifier, Identifier: identifier}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) keys() []string {
	f.t.Helper()
	keys, err := f.root.Keys()
	if err != nil {
		f.t.Fatal(err)
	}
	return keys
}
