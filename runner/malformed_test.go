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
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// warned reports whether one warning of the tick names the issue.
func warned(tick report.Tick, id string) bool {
	named := func(w string) bool { return strings.Contains(w, id) && strings.Contains(w, "it has no title") }
	return len(slices.DeleteFunc(slices.Clone(tick.Warnings), func(w string) bool { return !named(w) })) == 1
}

func TestAMalformedIssueInTheListIsAWarningAndTheOthersAreWorkedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		w.board.spoil("A-1")
		tick := w.tick(t.Context())
		if tick.Counts().Completed != 1 || !warned(tick, "A-1") {
			t.Errorf("completed %d, warnings %q", tick.Counts().Completed, tick.Warnings)
		}
		_, warnings, _ := report.Of(tick).Notes()
		if !slices.ContainsFunc(warnings, func(n report.Note) bool { return strings.Contains(n.Text, "A-1") }) {
			t.Errorf("no annotation names A-1: %+v", warnings)
		}
	})
}

func TestAListOfMalformedIssuesAloneFailsTheTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"))
		w.board.spoil("A-1")
		tick, err := w.run().Run(t.Context())
		if !errors.Is(err, tracker.ErrResponse) || tick.Unread == "" {
			t.Errorf("ended with %v, unread %q", err, tick.Unread)
		}
	})
}

func TestAClaimWhoseRecordIsMalformedWaitsAndNobodyElseDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"), issue("B-1", "Todo"), issue("C-1", "Todo"))
		w.edit(func(s *schedule.State) {
			for id, phase := range map[tracker.ID]schedule.Phase{"A-1": schedule.Waiting, "B-1": schedule.Parked} {
				c := schedule.Claim{ID: id, Identifier: string(id), Phase: phase, Since: time.Now(), Why: "as before"}
				if phase == schedule.Waiting {
					c.Due = time.Now()
				}
				s.Claims[id] = c
			}
		})
		w.board.spoil("A-1")
		w.board.spoil("B-1")
		worked := w.noteWork()
		tick := w.tick(t.Context())
		if diff := cmp.Diff([]tracker.ID{"C-1"}, *worked); diff != "" {
			t.Errorf("worked on (-want +got):\n%s", diff)
		}
		for _, id := range []tracker.ID{"A-1", "B-1"} {
			if c := w.claims()[id]; c.Why != "as before" {
				t.Errorf("the claim is now %+v", c)
			}
			i := slices.IndexFunc(tick.Verdicts, func(v schedule.Verdict) bool { return v.Issue.ID == id })
			if i < 0 || tick.Verdicts[i].Why.Reason != schedule.Malformed || !warned(tick, string(id)) {
				t.Errorf("%s is not named: verdicts %+v, warnings %q", id, tick.Verdicts, tick.Warnings)
			}
		}
	})
}

func TestASessionWhoseRecordBecomesMalformedGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"), issue("R-1", "Review"))
		w.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			w.board.spoil("A-1")
			if !passes(ctx, 2*time.Minute) {
				t.Errorf("stopped for %v", context.Cause(ctx))
			}
			w.board.mu.Lock()
			w.board.spoilt = nil
			w.board.issues = append(w.board.issues, issue("A-2", "Todo"))
			w.board.mu.Unlock()
			return w.handOver(ctx, job, report)
		}
		if tick := w.tick(t.Context()); tick.Counts().Completed != 2 || len(tick.Errors) != 0 || !warned(tick, "A-1") {
			t.Errorf("completed %d, errors %q, warnings %q", tick.Counts().Completed, tick.Errors, tick.Warnings)
		}
	})
}

func TestAnIssueThatIsMalformedWhenItIsReadAgainIsNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"), issue("A-3", "Todo"))
		w.flow.now.Settings.Policy.MaxConcurrent = 1
		var worked []tracker.ID
		w.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			worked = append(worked, job.Issue.ID)
			passes(ctx, 5*time.Second)
			w.board.spoil("A-2")
			return w.handOver(ctx, job, report)
		}
		w.tick(t.Context())
		if diff := cmp.Diff([]tracker.ID{"A-1", "A-3"}, worked); diff != "" {
			t.Errorf("worked on (-want +got):\n%s", diff)
		}
	})
}

func TestAMalformedLeftoverKeepsItsWorkspaceAndHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Done"), issue("A-2", "Done"), issue("A-3", "Todo"))
		w.prepare("A-1")
		w.prepare("A-2")
		w.board.spoil("A-1")
		tick := w.tick(t.Context())
		if tick.Counts().Completed != 1 || !warned(tick, "A-1") {
			t.Errorf("completed %d, warnings %q", tick.Counts().Completed, tick.Warnings)
		}
		if diff := cmp.Diff([]string{"A-1"}, w.keys()); diff != "" {
			t.Errorf("workspaces (-want +got):\n%s", diff)
		}
	})
}

func TestAFailedCleanupHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, issue("A-1", "Done"), issue("A-2", "Todo"))
		w.prepare("A-1")
		w.board.read = func() error { return errDown }
		tick := w.tick(t.Context())
		if tick.Counts().Completed != 1 || len(tick.Errors) != 0 || len(tick.Warnings) != 1 {
			t.Errorf("completed %d, errors %q, warnings %q", tick.Counts().Completed, tick.Errors, tick.Warnings)
		}
	})
}
