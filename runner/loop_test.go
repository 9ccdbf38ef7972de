package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

func TestATickWorksOnEveryIssueAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"), issue("A-2", "In Progress"), issue("A-3", "Backlog"))
		tick := w.tick(t.Context())
		if got := tick.Counts().Completed; got != 2 {
			t.Errorf("completed %d issues, want 2", got)
		}
		if len(w.claims()) != 0 {
			t.Errorf("claims left behind: %v", w.claims())
		}
		if took := tick.Ended.Sub(tick.Started); took > 2*time.Second {
			t.Errorf("two sessions of a second at once took %v", took)
		}
	})
}

func TestAFreedSlotIsFilledAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var issues []tracker.Issue
		for n := range 20 {
			issues = append(issues, issue(fmt.Sprintf("A-%02d", n), "Todo"))
		}
		w := newFixture(t, issues...)
		w.flow.now.Settings.Policy.MaxConcurrent = 1
		tick := w.tick(t.Context())
		if took := tick.Ended.Sub(tick.Started); took > 21*time.Second {
			t.Errorf("20 sessions of a second, one after the other, took %v", took)
		}
		if lists := count(w.board.reads, "list"); lists > 1 {
			t.Errorf("%d lists of candidates, want 1: a worker's exit must not cost a page", lists)
		}
	})
}

func TestAnUrgentIssueThatAppearsWhileAllSlotsAreTakenStartsFirst(t *testing.T) {
	for _, once := range []bool{true, false} {
		t.Run(fmt.Sprintf("once=%v", once), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var issues []tracker.Issue
				for n := range 5 {
					low := issue(fmt.Sprintf("LOW-%d", n), "Todo")
					low.Priority = new(4)
					issues = append(issues, low)
				}
				w := newFixture(t, issues...)
				w.flow.now.Settings.Policy.MaxConcurrent = 1
				time.AfterFunc(100*time.Second, func() {
					urgent := issue("URGENT", "Todo")
					urgent.Priority = new(1)
					w.board.mu.Lock()
					w.board.issues = append(w.board.issues, urgent)
					w.board.mu.Unlock()
				})
				var worked []tracker.ID
				w.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
					worked = append(worked, job.Issue.ID)
					passes(ctx, 4*time.Minute+7*time.Second) // many polls, and between two of them
					return w.handOver(ctx, job, report)
				}
				r := w.run()
				r.Once = once
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if _, err := r.Run(ctx); err != nil && !errors.Is(err, schedule.ErrInterrupted) {
					t.Fatal(err)
				}
				want := []tracker.ID{"LOW-0", "URGENT", "LOW-1", "LOW-2", "LOW-3", "LOW-4"}
				if diff := cmp.Diff(want, worked); diff != "" {
					t.Errorf("worked on (-want +got):\n%s", diff)
				}
				if lists := count(w.board.reads, "list"); once && lists > 1+len(want) {
					t.Errorf("%d lists of candidates for %d sessions: want no list while every slot is taken", lists, len(want))
				}
			})
		})
	}
}

func TestAListThatCannotBeReadAgainStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		w.flow.now.Settings.Policy.MaxConcurrent = 1
		w.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			if job.Issue.ID == "A-2" {
				t.Error("A-2 was started from a list of five minutes ago")
			}
			passes(ctx, 5*time.Minute)
			w.board.mu.Lock()
			w.board.listed = func() error { return errDown }
			w.board.mu.Unlock()
			return w.handOver(ctx, job, report)
		}
		if _, err := w.run().Run(t.Context()); !errors.Is(err, errDown) {
			t.Errorf("ended with %v, want %v", err, errDown)
		}
	})
}

func TestAClaimIsSavedBeforeItsSessionStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"))
		w.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			if c, saved := w.claims()[job.Issue.ID]; !saved || c.Phase != schedule.Running {
				t.Errorf("a session runs on %s, whose claim is not saved: %+v", job.Issue.ID, c)
			}
			return w.handOver(ctx, job, report)
		}
		w.tick(t.Context())
	})
}

func TestNothingStartsWhenTheClaimCannotBeSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"))
		full := errors.New("disk full")
		w.store.fail = func() error { return full }
		w.sessions = func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
			t.Error("a session was started")
			return schedule.Outcome{Class: schedule.Done}
		}
		if _, err := w.run().Run(t.Context()); !errors.Is(err, full) {
			t.Errorf("the tick ended with %v, want %v", err, full)
		}
	})
}

func TestAnotherRunThatIsFasterKeepsItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		other := schedule.Owner{Run: "other"}
		w.store.fail = func() error {
			w.store.fail = nil
			w.edit(func(s *schedule.State) {
				s.Self = other
				s.Apply(schedule.Decision{Action: schedule.Dispatch, ID: "A-1", Issue: issue("A-1", "Todo")}, time.Now())
			})
			return nil
		}
		worked := w.noteWork()
		w.tick(t.Context())
		if diff := cmp.Diff([]tracker.ID{"A-2"}, *worked); diff != "" {
			t.Errorf("worked on (-want +got):\n%s", diff)
		}
		if c := w.claims()["A-1"]; c.Owner != other {
			t.Errorf("the other run's claim is now %+v", c)
		}
	})
}

func TestAnIssueThatAFasterRunHasFinishedIsNotStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		w.store.fail = func() error {
			w.store.fail = nil
			w.board.move("A-1", "Review")
			w.edit(func(s *schedule.State) { s.AppendHistory(schedule.TickRecord{Run: "other", Sessions: 1, Done: 1}) })
			return nil
		}
		worked := w.noteWork()
		w.tick(t.Context())
		if diff := cmp.Diff([]tracker.ID{"A-2"}, *worked); diff != "" {
			t.Errorf("worked on (-want +got):\n%s", diff)
		}
	})
}

func TestAnExitThatMeetsAConflictIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"))
		w.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			w.edit(func(s *schedule.State) {
				s.Claims["B-1"] = schedule.Claim{ID: "B-1", Identifier: "B-1", Phase: schedule.Parked, Why: "by another run"}
			})
			return w.handOver(ctx, job, report)
		}
		tick := w.tick(t.Context())
		if _, left := w.claims()["A-1"]; left {
			t.Errorf("the exit of A-1 was lost: %v", w.claims())
		}
		if _, kept := w.claims()["B-1"]; !kept {
			t.Error("the other run's claim was overwritten")
		}
		if got := []int64{tick.Spent.Usage.Total(), tick.Today.Usage.Total()}; !slices.Equal(got, []int64{120, 120}) {
			t.Errorf("counted %d tokens in the tick and today, want 120 in each", got)
		}
	})
}

func TestASessionWhoseClaimAnotherRunTookIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"))
		other := schedule.Owner{Run: "other"}
		var cause error
		w.sessions = func(ctx context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			w.edit(func(s *schedule.State) {
				c := s.Claims["A-1"]
				c.Owner = other
				s.Claims["A-1"] = c
			})
			passes(ctx, time.Hour)
			cause = context.Cause(ctx)
			return stopped(ctx)
		}
		w.tick(t.Context())
		if cause != schedule.StopError(schedule.ClaimLost) {
			t.Errorf("the session ended with %v, want %v", cause, schedule.ClaimLost)
		}
		if c := w.claims()["A-1"]; c.Owner != other {
			t.Errorf("the claim is now %+v, want the other run's", c)
		}
	})
}

func TestASilentSessionIsStoppedAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"))
		began := time.Now()
		w.sessions = func(ctx context.Context, _ attempt.Job, report func(attempt.Update)) schedule.Outcome {
			passes(ctx, 2*time.Minute)
			report(attempt.Update{At: time.Now(), Update: schedule.Update{Alive: true, Turn: schedule.TurnBegan}})
			passes(ctx, time.Hour)
			return stopped(ctx)
		}
		w.tick(t.Context())
		if took := time.Since(began).Round(time.Second); took != 7*time.Minute {
			t.Errorf("it was stopped after %v, want 7m: five minutes after its last sign of life", took)
		}
		c := w.claims()["A-1"]
		if c.Phase != schedule.Waiting || c.Failures != 1 || !strings.Contains(c.Why, "silent") {
			t.Errorf("the claim is %+v", c)
		}
	})
}

func TestASessionIsNotSilentWhileItsHooksRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"))
		w.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			says := func(sign schedule.TurnSign) {
				report(attempt.Update{At: time.Now(), Update: schedule.Update{Alive: true, Turn: sign}})
			}
			passes(ctx, time.Hour) // after_create and before_run
			says(schedule.TurnBegan)
			passes(ctx, time.Minute)
			says(schedule.TurnEnded)
			if !passes(ctx, time.Hour) { // after_run
				t.Errorf("stopped for %v", context.Cause(ctx))
			}
			return w.handOver(ctx, job, report)
		}
		if tick := w.tick(t.Context()); tick.Counts().Completed != 1 {
			t.Errorf("the session ended as %+v", tick.Rows)
		}
	})
}

func TestASilentTurnIsNotForgottenInAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		w.flow.now.Settings.Poll = time.Minute
		w.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			if job.Issue.ID == "A-2" {
				passes(ctx, time.Minute)
				w.edit(func(s *schedule.State) { s.AppendHistory(schedule.TickRecord{Run: "other"}) })
				return w.handOver(ctx, job, report)
			}
			report(attempt.Update{At: time.Now(), Update: schedule.Update{Turn: schedule.TurnBegan, Thread: "thread"}})
			passes(ctx, time.Second)
			report(attempt.Update{At: time.Now(), Update: schedule.Update{Alive: true}})
			passes(ctx, time.Hour)
			return schedule.Outcome{Class: schedule.Stopped, Why: "as told"}
		}
		w.tick(t.Context())
		if c := w.claims()["A-1"]; c.Failures != 1 || c.Thread != "thread" {
			t.Errorf("the claim is %+v", c)
		}
	})
}

func TestAnIssueThatIsDoneStopsItsSessionAndLosesItsWorkspace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"))
		var cause error
		w.sessions = func(ctx context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			w.prepare("A-1")
			passes(ctx, 10*time.Second)
			w.board.move("A-1", "Done")
			passes(ctx, time.Hour)
			cause = context.Cause(ctx)
			return stopped(ctx)
		}
		w.tick(t.Context())
		if cause != schedule.StopError(schedule.Terminal) {
			t.Errorf("stopped for %v", cause)
		}
		if keys := w.keys(); len(keys) != 0 {
			t.Errorf("workspaces left: %v", keys)
		}
	})
}

func TestWorkspacesOfIssuesThatAreDoneAreRemovedAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Done"), issue("A-2", "Review"))
		w.prepare("A-1")
		w.prepare("A-2")
		w.tick(t.Context())
		if diff := cmp.Diff([]string{"A-2"}, w.keys()); diff != "" {
			t.Errorf("workspaces (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"ids A-1 A-2", "list"}, w.board.reads); diff != "" {
			t.Errorf("reads (-want +got):\n%s", diff)
		}
	})
}

func TestAWorkspaceWithoutAnOwnerRecordIsFoundByState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Done"))
		w.prepare("A-1")
		if err := os.RemoveAll(filepath.Join(w.dir, ".symphony")); err != nil {
			t.Fatal(err)
		}
		w.tick(t.Context())
		if keys := w.keys(); len(keys) != 0 {
			t.Errorf("workspaces left: %v", keys)
		}
	})
}

func TestAContinuationRunsInTheSameTickButARetryInTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"), issue("B-1", "Todo"))
		attempts := map[tracker.ID][]int{}
		var mu sync.Mutex
		w.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			mu.Lock()
			defer mu.Unlock()
			attempts[job.Issue.ID] = append(attempts[job.Issue.ID], job.Attempt)
			if job.Issue.ID == "B-1" {
				return schedule.Outcome{Class: schedule.IssueFailed, Why: "turn_failed"}
			}
			if len(attempts["A-1"]) == 1 {
				return schedule.Outcome{Class: schedule.Done, Issue: &job.Issue, Thread: "t", Turns: 1}
			}
			if job.Thread != "t" {
				t.Errorf("the continuation goes on with thread %q, want t", job.Thread)
			}
			return w.handOver(ctx, job, report)
		}
		w.tick(t.Context())
		if diff := cmp.Diff(map[tracker.ID][]int{"A-1": {0, 1}, "B-1": {0}}, attempts); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		if c := w.claims()["B-1"]; c.Phase != schedule.Waiting || c.Due.IsZero() {
			t.Errorf("B-1 is left as %+v", c)
		}
	})
}

func TestAnIssueThatChangedSinceItWasListedIsReadAgainBeforeItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"), issue("A-3", "Todo"))
		w.flow.now.Settings.Policy.MaxConcurrent = 1
		worked := w.noteWork(func() { w.board.move("A-2", "Backlog") }) // while the first session runs
		w.tick(t.Context())
		if diff := cmp.Diff([]tracker.ID{"A-1", "A-3"}, *worked); diff != "" {
			t.Errorf("worked on (-want +got):\n%s", diff)
		}
	})
}

func TestABadEditOfTheWorkflowBlocksDispatchAndKeepsReconciling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		w.flow.now.Settings.Policy.MaxConcurrent = 1
		w.sessions = func(ctx context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			if job.Issue.ID != "A-1" {
				t.Errorf("%s was started under a bad workflow", job.Issue.ID)
			}
			w.flow.change(func(*workflow.Settings) {}, workflow.ErrParse)
			w.board.move("A-1", "Done")
			passes(ctx, time.Hour)
			return stopped(ctx)
		}
		tick := w.tick(t.Context())
		if len(tick.Errors) != 1 || !strings.Contains(tick.Errors[0], "workflow_parse_error") {
			t.Errorf("errors: %q", tick.Errors)
		}
		if len(w.claims()) != 0 {
			t.Errorf("A-1 was not reconciled: %v", w.claims())
		}
	})
}

func count(all []string, one string) int {
	return len(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s != one }))
}
