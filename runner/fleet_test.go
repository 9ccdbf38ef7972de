package runner_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/tracker"
)

func TestAFleetDoesWhatOneRunDoes(t *testing.T) {
	t.Parallel()
	board := []tracker.Issue{issue("ABC-1", "Todo"), issue("ABC-2", "Todo"), issue("ABC-3", "Todo"), issue("ABC-4", "In Progress"), issue("ABC-5", "Backlog")}
	var want map[tracker.ID]schedule.Claim
	var days []schedule.Day
	session := func(f *fixture) func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
		return func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			if job.Issue.ID == "ABC-2" {
				passes(ctx, time.Second)
				return schedule.Outcome{Class: schedule.IssueFailed, Why: "turn_failed", Turns: 1, Thread: "thread", Usage: schedule.Usage{Input: 7}}
			}
			return f.handOver(ctx, job, report)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, slices.Clone(board)...)
		f.sessions = session(f)
		f.tick(t.Context())
		want, days = f.claims(), f.state().Days
	})
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, slices.Clone(board)...)
		f.sessions = session(f.fixture)
		plan, planned := f.plan(16, 2)
		if len(plan.Shards) != 2 || planned.Spent.Sessions != 0 || len(planned.Rows) != 0 {
			t.Fatalf("%d shards, report %+v", len(plan.Shards), planned)
		}
		for id, c := range f.claims() {
			if c.Phase != schedule.Running || c.Owner.Shard == 0 || c.Owner.Run != "77" {
				t.Errorf("%s: %+v", id, c)
			}
		}
		for shard := range plan.Shards {
			f.work(shard + 1)
		}
		tick := f.collect()
		if f.store.saves != 2 {
			t.Errorf("%d saves, want 2", f.store.saves)
		}
		got := f.claims()
		for _, claims := range []map[tracker.ID]schedule.Claim{got, want} {
			for id, c := range claims {
				c.Since, c.Due = time.Time{}, time.Time{} // the fleet took another time
				claims[id] = c
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("claims (-one run +fleet):\n%s", diff)
		}
		if diff := cmp.Diff(days, f.state().Days); diff != "" {
			t.Errorf("spending (-one run +fleet):\n%s", diff)
		}
		if counts := tick.Counts(); counts.Dispatched != 4 || counts.Completed != 3 || counts.Failed != 1 || counts.Retrying != 1 {
			t.Errorf("report: %+v", counts)
		}
		shards := map[tracker.ID]int{}
		for _, row := range tick.Rows {
			shards[row.ID] = row.Shard
		}
		if want := map[tracker.ID]int{"ABC-1": 1, "ABC-3": 1, "ABC-2": 2, "ABC-4": 2}; !maps.Equal(shards, want) {
			t.Errorf("shards of the rows: %v, want %v", shards, want)
		}
		if history := f.state().History; len(history) != 1 || history[0].Sessions != 4 || history[0].Run != "77" {
			t.Errorf("history %+v", history)
		}
	})
}

// A claim that a fault of the workflow has parked is free as soon as a digest differs.
func TestTheShardsOfAFleetMakeTheirDigestsWithOneSalt(t *testing.T) {
	t.Parallel()
	f := newFleet(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"))
	f.sessions = func(context.Context, attempt.Job, func(attempt.Update)) schedule.Outcome {
		return schedule.Outcome{Class: schedule.IssueFailed, Why: "the hook failed", Fault: "hook"}
	}
	f.plan(2, 1)
	f.work(1)
	f.work(2)
	f.collect()
	claims := f.claims()
	if one, two := claims["ABC-1"].Setup.Workflow, claims["ABC-2"].Setup.Workflow; one == "" || one != two {
		t.Errorf("the digests are %q and %q", one, two)
	}
}

func TestAPlanWhoseSaveMetAnotherRunAssignsWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"))
		other := schedule.Owner{Run: "78", Attempt: 1}
		f.store.fail = func() error {
			f.store.fail = nil
			f.edit(func(s *schedule.State) {
				s.Self = other
				s.Apply(schedule.Decision{Action: schedule.Dispatch, ID: "ABC-1", Issue: issue("ABC-1", "Todo")}, time.Now())
			})
			return nil
		}
		plan, _ := f.plan(2, 1)
		if len(plan.Shards) != 1 || f.claims()["ABC-1"].Owner != other || f.claims()["ABC-2"].Owner != plan.ShardOwner(1) {
			t.Errorf("%d shards, claims %+v", len(plan.Shards), f.claims())
		}
	})
}

func TestAPlanTakesBackWhatASaveThatSeemedToFailHasAssigned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"))
		f.store.lose = func() error { f.store.lose = nil; return store.ErrConflict } // it was saved
		plan, _ := f.plan(2, 1)
		for id, c := range f.claims() {
			if !slices.ContainsFunc(plan.Shards, func(s fleet.Slice) bool { _, has := s.State.Claims[id]; return has }) || c.Sessions != 1 {
				t.Errorf("%s belongs to no shard of the plan: %+v", id, c)
			}
		}
		if len(plan.Shards) != 2 {
			t.Errorf("%d shards", len(plan.Shards))
		}
	})
}

func TestAShardReadsOnlyItsOwnIssues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"))
		f.plan(2, 1)
		f.board.reads = nil
		f.work(2)
		for _, read := range f.board.reads {
			if read != "ids ABC-2" {
				t.Errorf("read %q", read)
			}
		}
	})
}

func TestAnIssueThatNobodyWantsAnyMoreIsReleasedByItsShard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"))
		f.plan(1, 1)
		f.board.move("ABC-1", "Done")
		worked := f.noteWork()
		f.work(1)
		f.collect()
		if len(*worked) != 0 || len(f.claims()) != 0 || f.state().SpentToday(time.Now()).Sessions != 0 {
			t.Errorf("worked on %v, claims %v", *worked, f.claims())
		}
	})
}

func TestShardsPollLessOftenTheMoreThereAre(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"))
		plan, _ := f.plan(1, 1)
		for len(plan.Shards) < 256 { // the others have nothing to do
			n := len(plan.Shards) + 1
			plan.Shards = append(plan.Shards, fleet.Slice{Number: n, State: schedule.New(plan.ShardOwner(n))})
		}
		if err := fleet.WritePlan(f.exchange, plan); err != nil {
			t.Fatal(err)
		}
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			passes(ctx, 2*time.Hour)
			return f.handOver(ctx, job, report)
		}
		f.board.reads = nil
		f.work(1)
		// 1.5 s for each of 256 shards are 384 s, so about 19 polls in two hours.
		if n := len(f.board.reads); n < 15 || n > 26 {
			t.Errorf("%d reads in two hours", n)
		}
	})
}

func TestCollectWarnsOfJobsThatAreNotNamedAsShards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"))
		f.flow.now.Settings.Policy.Budget.Attempts = 1
		plan, _ := f.plan(2, 1)
		r := f.runner()
		r.OwnerStatuses = func(_ context.Context, owners []schedule.Owner) map[schedule.Owner]runner.OwnerAnswer {
			answers := map[schedule.Owner]runner.OwnerAnswer{}
			for _, o := range owners {
				answers[o] = runner.OwnerAnswer{Unnamed: true}
			}
			return answers
		}
		_, tick, err := r.Collect(t.Context(), plan, nil)
		if err != nil {
			t.Fatal(err)
		}
		const want = `no job of workflow run 77 is called "shard N"`
		if n := strings.Count(strings.Join(tick.Warnings, "\n"), want); n != 1 {
			t.Errorf("%d of the warnings have %s: %q", n, want, tick.Warnings)
		}
		for id, c := range f.claims() {
			if c.Phase != schedule.Running {
				t.Errorf("%s is taken over although its shard may work: %+v", id, c)
			}
		}
		passes(t.Context(), 3*time.Hour)
		r.Self.Run = "78"
		if _, err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for id, c := range f.claims() {
			if c.Phase != schedule.Parked || c.Failures != 1 {
				t.Errorf("after the time of its shard %s is %+v", id, c)
			}
		}
	})
}
