package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestAShardWithoutAResultIsChargedOnlyIfItBegan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"), issue("ABC-3", "Todo"))
		f.plan(3, 1)
		f.work(1)
		f.status[2], f.status[3] = schedule.Dead, schedule.Unstarted
		tick := f.collect()
		died, waits := f.claims()["ABC-2"], f.claims()["ABC-3"]
		if died.Phase != schedule.Waiting || died.Failures != 1 || died.Sessions != 1 {
			t.Errorf("the issue of the dead shard: %+v", died)
		}
		if waits.Phase != schedule.Waiting || waits.Failures != 0 || waits.Sessions != 0 || waits.Attempt != 0 {
			t.Errorf("the issue of the shard that never began: %+v", waits)
		}
		if counts := tick.Counts(); counts.Completed != 1 || counts.Failed != 1 || counts.Retrying != 2 {
			t.Errorf("report: %+v", counts)
		}
		f.work(2) // late: GitHub was wrong
		f.status = nil
		again := f.collect()
		if got := f.claims()["ABC-2"]; got.Failures != died.Failures || got.Sessions != died.Sessions {
			t.Errorf("a late result changed the claim: %+v", got)
		}
		if spent := f.state().SpentToday(time.Now()); spent.Usage.Total() != 240 || spent.Sessions != 2 {
			t.Errorf("spent %+v, want that of two sessions", spent)
		}
		if text := report.Of(again).Text(160); len(again.Rows) != 0 || again.Spent.Usage.Total() != 120 ||
			!strings.Contains(text, "Only spending is new: 1 result came after the issues had been taken over, and 1 had been taken over before.") || strings.Contains(text, "Nothing is new") ||
			!strings.Contains(text, "shard 2 of run 77: its result came after its issues had been taken over, so only its spending counts") {
			t.Errorf("the report of the second collect has the rows %+v\n%s", again.Rows, text)
		}
	})
}

func TestResultsAreAppliedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"))
		f.plan(2, 1)
		f.work(1)
		f.work(2)
		first := f.collect()
		saved := f.store.saves
		second := f.collect()
		if f.store.saves != saved {
			t.Error("the second collect saved the state")
		}
		if len(first.Rows) != 2 || len(second.Rows) != 0 || second.Counts() != (report.Counts{}) || second.Spent.Usage.Total() != 0 {
			t.Errorf("the first collect reports %+v, the second %+v", first.Rows, second.Rows)
		}
		const want = "Nothing is new: all 2 results had been taken over before"
		if text := report.Of(second).Text(160); !strings.Contains(text, want) {
			t.Errorf("the second report does not say %q:\n%s", want, text)
		}
	})
}

func TestACollectWithoutThePlanGivesItsIssuesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"))
		f.plan(1, 1)
		f.status[1] = schedule.Unstarted
		if _, _, err := f.runner().Collect(t.Context(), fleet.Plan{}, nil); err != nil {
			t.Fatal(err)
		}
		if c := f.claims()["ABC-1"]; c.Phase != schedule.Waiting || c.Failures != 0 {
			t.Errorf("%+v", c)
		}
	})
}

func TestCollectSavesTheResultsAlthoughTheTrackerCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"))
		f.plan(1, 1)
		f.work(1)
		f.board.listed = func() error { return errDown }
		tick := f.collect()
		if len(f.claims()) != 0 || tick.Counts().Completed != 1 || len(tick.Errors) != 0 || len(tick.Warnings) != 1 {
			t.Errorf("claims %v, report %+v", f.claims(), tick)
		}
	})
}

func TestASessionThatAShardWasKilledInIsInTheReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"))
		result := filepath.Join(f.exchange, "results", "result-1", "result.json")
		var saved []byte // as a process leaves it that is killed in the session
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			report(attempt.Update{Update: schedule.Update{Turn: schedule.TurnBegan, Turns: 2, Usage: schedule.Usage{Input: 70}, Alive: true}, At: time.Now()})
			passes(ctx, 10*time.Minute)
			var err error
			if saved, err = os.ReadFile(result); err != nil {
				t.Error(err)
			}
			return f.handOver(ctx, job, report)
		}
		f.plan(1, 1)
		f.work(1)
		if err := os.WriteFile(result, saved, 0o600); err != nil {
			t.Fatal(err)
		}
		tick := f.collect()
		if len(tick.Rows) != 1 || tick.Rows[0].ID != "ABC-1" || tick.Rows[0].Class != schedule.IssueFailed || tick.Rows[0].Shard != 1 || tick.Rows[0].Why == "" || tick.Counts().Failed != 1 {
			t.Errorf("the report has the rows %+v", tick.Rows)
		}
		if row := tick.Rows[0]; !row.Lost || row.Turns != 2 || row.Usage.Input != 70 || row.Took != 0 || row.Run != "77" {
			t.Errorf("of what the session did, the row says %+v", row)
		}
		if c := f.claims()["ABC-1"]; c.Phase != schedule.Waiting || c.Failures != 1 {
			t.Errorf("the claim is %+v", c)
		}
	})
}

// A result is written where an agent ran.
func TestAResultSpeaksForItsOwnIssueOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"))
		f.plan(1, 1)
		f.work(1)
		plan, results := f.results()
		row := &results[0].Tick.Rows[0]
		row.Title, row.URL, row.Identifier = "Pay here", "https://evil.example", "ABC-9"
		row.Kept = report.Kept{Folder: "kept", Commands: []string{"git fetch work.bundle refs/heads/out:refs/heads/main"}}
		results[0].Tick.Spent.Usage.Input = schedule.MaxTokens
		_, tick, err := f.runner().Collect(t.Context(), plan, results)
		if err != nil {
			t.Fatal(err)
		}
		got := tick.Rows[0]
		if got.Identifier != "ABC-1" || got.Title != issue("ABC-1", "Todo").Title || got.URL != issue("ABC-1", "Todo").URL || got.Kept.Commands != nil || got.Kept.Folder != "kept" {
			t.Errorf("the report has %+v", got)
		}
		if tick.Spent.Usage.Total() != 1_000_000_000 || len(tick.Warnings) != 2 {
			t.Errorf("the tick has used %d tokens; warnings %q", tick.Spent.Usage.Total(), tick.Warnings)
		}
	})
}

func TestTheSameRefusalOfPushesInTwoShardsPausesWhenTheyAreCollected(t *testing.T) {
	t.Parallel()
	f := newFleet(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"))
	f.sessions = func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
		return schedule.Outcome{
			Class: schedule.IssueFailed, Cause: schedule.CauseDelivery, Fault: schedule.PushFault + "no", Why: "push_rejected: no",
			Turns: 1, Thread: "thread", Usage: schedule.Usage{Input: 9},
		}
	}
	f.plan(2, 1)
	f.work(1)
	f.work(2)
	f.collect()
	if p := f.state().Pause; p.Why != "each push is refused in the same way: push_rejected: no" || p.Cause != schedule.CauseDelivery || !p.Until.After(time.Now()) {
		t.Errorf("the pause is %+v", p)
	}
}

func TestCollectSaysThatTheNextPlanStartsWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"))
		f.plan(1, 1)
		f.work(1)
		for range 2 { // the second one finds nothing new
			tick := f.collect()
			if len(tick.Verdicts) != 1 || tick.Verdicts[0].Why.Reason != schedule.NextPlan {
				t.Errorf("verdicts %+v", tick.Verdicts)
			}
		}
	})
}

func TestAShardThatCannotBeAskedAboutIsLeftToALaterTick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"))
		f.plan(1, 1)
		tick := f.collect()
		if c := f.claims()["ABC-1"]; c.Phase != schedule.Running || c.Owner.Shard != 1 {
			t.Errorf("the claim is %+v", c)
		}
		if len(tick.Warnings) != 1 || !strings.Contains(tick.Warnings[0], "shard 1 of run 77 left no result") {
			t.Errorf("warnings %q", tick.Warnings)
		}
		passes(t.Context(), 3*time.Hour)
		f.self.Run = "78"
		f.tick(t.Context())
		if len(f.claims()) != 0 {
			t.Errorf("after its time: %+v", f.claims())
		}
	})
}

func TestCollectTakesOverNoClaimsOfOtherOwners(t *testing.T) {
	t.Parallel()
	others := map[tracker.ID]schedule.Owner{
		"ABC-2": {Run: "78", Attempt: 1, Started: 1, Limit: 3600, Shard: 1},     // a fleet of another workflow
		"ABC-3": {Run: "77", Attempt: 2, Started: 1, Limit: 3600, Shard: 1},     // the run was started again
		"ABC-4": {Host: "desk", PID: 8, Started: 1, Limit: 3600, Shard: 1},      // a fleet that a person started
		"ABC-5": {Run: "79", Attempt: 1, Job: "tick", Host: "runner", PID: 1},   // one process in Actions
		"ABC-7": {Host: "desk", PID: 7, Started: 1},                             // a laptop
		"ABC-6": {Run: "77", Attempt: 1, Job: "triage", Host: "runner", PID: 2}, // another job of the run
	}
	for _, status := range []schedule.OwnerStatus{schedule.Unknown, schedule.Dead} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, issue("ABC-1", "Todo"))
			f.plan(1, 1)
			f.edit(func(s *schedule.State) {
				for id, owner := range others {
					d := schedule.Decision{Action: schedule.Dispatch, ID: id, Issue: issue(string(id), "Todo")}
					if s.Self = owner; owner.Shard > 0 {
						d.Owner, d.Lease = owner, time.Hour
					}
					s.Apply(d, time.Now())
				}
			})
			before := f.claims()
			plan, _ := f.results()
			r := f.runner()
			r.OwnerStatuses = eachOwner(func(_ context.Context, o schedule.Owner) schedule.OwnerStatus {
				if o == plan.ShardOwner(1) {
					return schedule.Dead
				}
				return status
			})
			if _, tick, err := r.Collect(t.Context(), plan, nil); err != nil || len(tick.Rows) != 1 {
				t.Errorf("others %v: %v, the report has the rows %+v", status, err, tick.Rows)
			}
			after := f.claims()
			if c := after["ABC-1"]; c.Phase != schedule.Waiting {
				t.Errorf("others %v: the claim of its own shard is %+v", status, c)
			}
			for id := range others {
				if diff := cmp.Diff(before[id], after[id]); diff != "" {
					t.Errorf("others %v: %s changed: %s", status, id, diff)
				}
			}
		})
	}
}

func TestCollectReportsEachIssueOnceAlthoughItsSaveMetAnotherRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"))
		f.flow.now.Settings.Policy.Budget.Attempts = 1
		f.plan(2, 1)
		f.work(1)
		f.status[2] = schedule.Dead
		f.store.fail = func() error {
			f.store.fail = nil
			f.edit(func(s *schedule.State) {
				s.Self = schedule.Owner{Run: "78", Attempt: 1}
				s.Apply(schedule.Decision{Action: schedule.Dispatch, ID: "ABC-3", Issue: issue("ABC-3", "Todo")}, time.Now())
			})
			return nil
		}
		tick := f.collect()
		if f.store.fail != nil || f.claims()["ABC-3"].Phase != schedule.Running {
			t.Fatalf("no other run saved: %+v", f.claims())
		}
		if len(tick.Rows) != 2 || tick.Acted != 2 || !slices.Equal(tick.Parked, []tracker.ID{"ABC-2"}) || tick.Spent.Usage.Total() != 120 {
			t.Errorf("acted on %d, parked %v, spent %+v, rows %+v", tick.Acted, tick.Parked, tick.Spent, tick.Rows)
		}
	})
}

func TestTheRowOfALostSessionThatWasTheLastTrySaysThatItIsParked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"))
		f.flow.now.Settings.Policy.Budget.Attempts = 1
		f.plan(1, 1)
		f.status[1] = schedule.Dead
		tick := f.collect()
		if next := tick.Row("ABC-1").Next; next.Phase != schedule.Parked || next.Why.Reason != schedule.IsParked || len(tick.Parked) != 1 {
			t.Errorf("the row says %+v, parked are %v", next, tick.Parked)
		}
		if row := tick.Row("ABC-1"); !row.Lost || row.Turns != 0 || row.Run != "77" || row.Job != "9001" {
			t.Errorf("of its shard, the row says %+v", row)
		}
	})
}
