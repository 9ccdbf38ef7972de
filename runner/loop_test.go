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
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "In Progress"), issue("A-3", "Backlog"))
		tick := f.tick(t.Context())
		if got := tick.Counts().Completed; got != 2 {
			t.Errorf("completed %d issues, want 2", got)
		}
		if len(f.claims()) != 0 {
			t.Errorf("claims left behind: %v", f.claims())
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
		f := newFixture(t, issues...)
		f.flow.now.Settings.Policy.MaxConcurrent = 1
		tick := f.tick(t.Context())
		if took := tick.Ended.Sub(tick.Started); took > 21*time.Second {
			t.Errorf("20 sessions of a second, one after the other, took %v", took)
		}
		if lists := count(f.board.reads, "list"); lists > 1 {
			t.Errorf("%d lists of candidates, want 1: a worker's exit must not cost a page", lists)
		}
	})
}

func TestSessionsThatEndWithinAFewMillisecondsShareOneSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"), issue("A-3", "Todo"), issue("A-4", "Todo"))
		f.sessions = func(ctx context.Context, job attempt.Job, on func(attempt.Update)) schedule.Outcome {
			passes(ctx, map[tracker.ID]time.Duration{"A-2": 4, "A-3": 8, "A-4": 1000}[job.Issue.ID]*time.Millisecond)
			return f.handOver(ctx, job, on)
		}
		f.tick(t.Context())
		if f.store.saves != 4 {
			t.Errorf("%d saves, want one for the claims, one for A-1, one for A-2 and A-3, and one for A-4", f.store.saves)
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
				f := newFixture(t, issues...)
				f.flow.now.Settings.Policy.MaxConcurrent = 1
				time.AfterFunc(100*time.Second, func() {
					urgent := issue("URGENT", "Todo")
					urgent.Priority = new(1)
					f.board.mu.Lock()
					f.board.issues = append(f.board.issues, urgent)
					f.board.mu.Unlock()
				})
				var worked []tracker.ID
				f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
					worked = append(worked, job.Issue.ID)
					passes(ctx, 4*time.Minute+7*time.Second) // many polls, and between two of them
					return f.handOver(ctx, job, report)
				}
				r := f.run()
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
				if lists := count(f.board.reads, "list"); once && lists > 1+len(want) {
					t.Errorf("%d lists of candidates for %d sessions: want no list while every slot is taken", lists, len(want))
				}
			})
		})
	}
}

func TestAListThatCannotBeReadAgainStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		f.flow.now.Settings.Policy.MaxConcurrent = 1
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			if job.Issue.ID == "A-2" {
				t.Error("A-2 was started from a list of five minutes ago")
			}
			passes(ctx, 5*time.Minute)
			f.board.mu.Lock()
			f.board.listed = func() error { return errDown }
			f.board.mu.Unlock()
			return f.handOver(ctx, job, report)
		}
		if _, err := f.run().Run(t.Context()); !errors.Is(err, errDown) {
			t.Errorf("ended with %v, want %v", err, errDown)
		}
	})
}

func TestAClaimIsSavedBeforeItsSessionStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			if c, saved := f.claims()[job.Issue.ID]; !saved || c.Phase != schedule.Running {
				t.Errorf("a session runs on %s, whose claim is not saved: %+v", job.Issue.ID, c)
			}
			return f.handOver(ctx, job, report)
		}
		f.tick(t.Context())
	})
}

func TestNothingStartsWhenTheClaimCannotBeSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		full := errors.New("disk full")
		f.store.fail = func() error { return full }
		f.sessions = func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
			t.Error("a session was started")
			return schedule.Outcome{Class: schedule.Done}
		}
		if _, err := f.run().Run(t.Context()); !errors.Is(err, full) {
			t.Errorf("the tick ended with %v, want %v", err, full)
		}
	})
}

func TestAnotherRunThatIsFasterKeepsItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		other := schedule.Owner{Run: "other"}
		f.store.fail = func() error {
			f.store.fail = nil
			f.edit(func(s *schedule.State) {
				s.Self = other
				s.Apply(schedule.Decision{Action: schedule.Dispatch, ID: "A-1", Issue: issue("A-1", "Todo")}, time.Now())
			})
			return nil
		}
		worked := f.noteWork()
		f.tick(t.Context())
		if diff := cmp.Diff([]tracker.ID{"A-2"}, *worked); diff != "" {
			t.Errorf("worked on (-want +got):\n%s", diff)
		}
		if c := f.claims()["A-1"]; c.Owner != other {
			t.Errorf("the other run's claim is now %+v", c)
		}
	})
}

func TestAnIssueThatAFasterRunHasFinishedIsNotStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		f.store.fail = func() error {
			f.store.fail = nil
			f.board.move("A-1", "Review")
			f.edit(func(s *schedule.State) { s.AppendHistory(schedule.TickRecord{Run: "other", Sessions: 1, Done: 1}) })
			return nil
		}
		worked := f.noteWork()
		f.tick(t.Context())
		if diff := cmp.Diff([]tracker.ID{"A-2"}, *worked); diff != "" {
			t.Errorf("worked on (-want +got):\n%s", diff)
		}
	})
}

func TestAnExitThatMeetsAConflictIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			f.edit(func(s *schedule.State) {
				s.Claims["B-1"] = schedule.Claim{ID: "B-1", Identifier: "B-1", Phase: schedule.Parked, Why: "by another run"}
			})
			return f.handOver(ctx, job, report)
		}
		tick := f.tick(t.Context())
		if _, left := f.claims()["A-1"]; left {
			t.Errorf("the exit of A-1 was lost: %v", f.claims())
		}
		if _, kept := f.claims()["B-1"]; !kept {
			t.Error("the other run's claim was overwritten")
		}
		if got := []int64{tick.Spent.Usage.Total(), tick.Today.Usage.Total()}; !slices.Equal(got, []int64{120, 120}) {
			t.Errorf("counted %d tokens in the tick and today, want 120 in each", got)
		}
	})
}

func TestASessionWhoseClaimAnotherRunTookIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		other := schedule.Owner{Run: "other"}
		var cause error
		f.sessions = func(ctx context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			f.edit(func(s *schedule.State) {
				c := s.Claims["A-1"]
				c.Owner = other
				s.Claims["A-1"] = c
			})
			passes(ctx, time.Hour)
			cause = context.Cause(ctx)
			return stopped(ctx)
		}
		f.tick(t.Context())
		if cause != schedule.StopError(schedule.ClaimLost) {
			t.Errorf("the session ended with %v, want %v", cause, schedule.ClaimLost)
		}
		if c := f.claims()["A-1"]; c.Owner != other {
			t.Errorf("the claim is now %+v, want the other run's", c)
		}
	})
}

func TestASilentSessionIsStoppedAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		began := time.Now()
		f.sessions = func(ctx context.Context, _ attempt.Job, report func(attempt.Update)) schedule.Outcome {
			passes(ctx, 2*time.Minute)
			report(attempt.Update{At: time.Now(), Update: schedule.Update{Alive: true, Turn: schedule.TurnBegan}})
			passes(ctx, time.Hour)
			return stopped(ctx)
		}
		f.tick(t.Context())
		if took := time.Since(began).Round(time.Second); took != 7*time.Minute {
			t.Errorf("it was stopped after %v, want 7m: five minutes after its last sign of life", took)
		}
		c := f.claims()["A-1"]
		if c.Phase != schedule.Waiting || c.Failures != 1 || !strings.Contains(c.Why, "silent") {
			t.Errorf("the claim is %+v", c)
		}
	})
}

func TestASessionIsNotSilentWhileItsHooksRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
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
			return f.handOver(ctx, job, report)
		}
		if tick := f.tick(t.Context()); tick.Counts().Completed != 1 {
			t.Errorf("the session ended as %+v", tick.Rows)
		}
	})
}

func TestASilentTurnIsNotForgottenInAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		f.flow.now.Settings.Poll = time.Minute
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			if job.Issue.ID == "A-2" {
				passes(ctx, time.Minute)
				f.edit(func(s *schedule.State) { s.AppendHistory(schedule.TickRecord{Run: "other"}) })
				return f.handOver(ctx, job, report)
			}
			report(attempt.Update{At: time.Now(), Update: schedule.Update{Turn: schedule.TurnBegan, Thread: "thread"}})
			passes(ctx, time.Second)
			report(attempt.Update{At: time.Now(), Update: schedule.Update{Alive: true}})
			passes(ctx, time.Hour)
			return schedule.Outcome{Class: schedule.Stopped, Why: "as told"}
		}
		f.tick(t.Context())
		if c := f.claims()["A-1"]; c.Failures != 1 || c.Thread != "thread" {
			t.Errorf("the claim is %+v", c)
		}
	})
}

func TestAnIssueThatIsDoneStopsItsSessionAndLosesItsWorkspace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		var cause error
		f.sessions = func(ctx context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			f.prepare("A-1")
			passes(ctx, 10*time.Second)
			f.board.move("A-1", "Done")
			passes(ctx, time.Hour)
			cause = context.Cause(ctx)
			return stopped(ctx)
		}
		f.tick(t.Context())
		if cause != schedule.StopError(schedule.Terminal) {
			t.Errorf("stopped for %v", cause)
		}
		if keys := f.keys(); len(keys) != 0 {
			t.Errorf("workspaces left: %v", keys)
		}
	})
}

func TestAPollDoesNotStopTheSessionThatMovedItsIssueItself(t *testing.T) {
	for name, test := range map[string]struct {
		later string // the state to which a person moves the issue after the agent; empty for none
		want  schedule.Class
	}{
		"nobody else moves it": {"", schedule.Done},
		"a person cancels it":  {"Done", schedule.Stopped},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, issue("A-1", "Todo"))
				f.sessions = func(ctx context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
					var left tracker.Issue
					job.Own.During(func() (*tracker.Issue, bool) {
						left = f.board.move("A-1", "Review")
						passes(ctx, time.Minute) // with two polls
						return &left, true
					})
					passes(ctx, time.Minute)
					if test.later != "" {
						f.board.move("A-1", test.later)
					}
					if !passes(ctx, time.Minute) {
						return stopped(ctx)
					}
					return schedule.Outcome{Class: schedule.Done, Issue: &left, Turns: 1}
				}
				tick := f.tick(t.Context())
				if len(tick.Rows) != 1 || tick.Rows[0].Class != test.want {
					t.Errorf("%+v", tick.Rows)
				}
			})
		})
	}
}

func TestWorkspacesOfIssuesThatAreDoneAreRemovedAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Done"), issue("A-2", "Review"))
		f.prepare("A-1")
		f.prepare("A-2")
		f.tick(t.Context())
		if diff := cmp.Diff([]string{"A-2"}, f.keys()); diff != "" {
			t.Errorf("workspaces (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"list", "ids A-1 A-2"}, f.board.reads); diff != "" {
			t.Errorf("reads (-want +got):\n%s", diff)
		}
	})
}

func TestAWorkspaceWithoutAnOwnerRecordIsFoundByState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Done"))
		f.prepare("A-1")
		if err := os.RemoveAll(filepath.Join(f.dir, ".symphony")); err != nil {
			t.Fatal(err)
		}
		f.tick(t.Context())
		if keys := f.keys(); len(keys) != 0 {
			t.Errorf("workspaces left: %v", keys)
		}
	})
}

func TestAContinuationRunsInTheSameTickButARetryInTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("B-1", "Todo"))
		attempts := map[tracker.ID][]int{}
		var mu sync.Mutex
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
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
			return f.handOver(ctx, job, report)
		}
		f.tick(t.Context())
		if diff := cmp.Diff(map[tracker.ID][]int{"A-1": {0, 1}, "B-1": {0}}, attempts); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		if c := f.claims()["B-1"]; c.Phase != schedule.Waiting || c.Due.IsZero() {
			t.Errorf("B-1 is left as %+v", c)
		}
	})
}

func TestAnIssueThatChangedSinceItWasListedIsReadAgainBeforeItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"), issue("A-3", "Todo"))
		f.flow.now.Settings.Policy.MaxConcurrent = 1
		worked := f.noteWork(func() { f.board.move("A-2", "Backlog") }) // while the first session runs
		f.tick(t.Context())
		if diff := cmp.Diff([]tracker.ID{"A-1", "A-3"}, *worked); diff != "" {
			t.Errorf("worked on (-want +got):\n%s", diff)
		}
	})
}

func TestABadEditOfTheWorkflowBlocksDispatchAndKeepsReconciling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		f.flow.now.Settings.Policy.MaxConcurrent = 1
		f.sessions = func(ctx context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
			if job.Issue.ID != "A-1" {
				t.Errorf("%s was started under a bad workflow", job.Issue.ID)
			}
			f.flow.change(func(*workflow.Settings) {}, workflow.ErrParse)
			f.board.move("A-1", "Done")
			passes(ctx, time.Hour)
			return stopped(ctx)
		}
		tick := f.tick(t.Context())
		if len(tick.Errors) != 1 || !strings.Contains(tick.Errors[0], "workflow_parse_error") {
			t.Errorf("errors: %q", tick.Errors)
		}
		if len(f.claims()) != 0 {
			t.Errorf("A-1 was not reconciled: %v", f.claims())
		}
	})
}

func count(all []string, one string) int {
	return len(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s != one }))
}
