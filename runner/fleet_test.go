package runner_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/tracker"
)

// fleetTest plays the three parts of a fleet's tick on a fixture.
type fleetTest struct {
	*fixture
	remote   *remote // whose sessions these are; nil for those of the fixture
	exchange string
	self     schedule.Owner
	status   map[int]schedule.OwnerStatus // of shards, as GitHub says; Unknown if it is not in it
}

func newFleet(t *testing.T, issues ...tracker.Issue) *fleetTest {
	return &fleetTest{
		fixture: newFixture(t, issues...), exchange: t.TempDir(),
		self: schedule.Owner{Run: "77", Attempt: 1, Job: "plan", Host: "runner", PID: 1}, status: map[int]schedule.OwnerStatus{},
	}
}

// runner returns a runner of the fleet's workflow run.
func (f *fleetTest) runner() *runner.Runner {
	r := f.run()
	if f.remote != nil {
		r = f.remote.run()
	}
	r.Self = f.self
	r.OwnerStatuses = eachOwner(func(_ context.Context, o schedule.Owner) schedule.OwnerStatus { return f.status[o.Shard] })
	return r
}

// plan makes the plan of a fleet of so many shards and slots, which must succeed.
func (f *fleetTest) plan(shards, slots int) (fleet.Plan, report.Tick) {
	f.t.Helper()
	r := f.runner()
	r.Fleet = &schedule.Fleet{
		Owner:  schedule.Owner{Run: r.Self.Run, Attempt: r.Self.Attempt, Started: time.Now().UnixMilli(), Limit: 3600},
		Shards: shards, Slots: slots, Lease: 2 * time.Hour,
	}
	plan, tick, err := r.Assign(f.t.Context())
	if err == nil {
		err = fleet.WritePlan(f.exchange, plan)
	}
	if err != nil {
		f.t.Fatalf("plan: %v\n%s", err, f.log)
	}
	return plan, tick
}

// work lets a shard of the plan in the exchange folder work.
func (f *fleetTest) work(shard int) report.Tick {
	f.t.Helper()
	plan, err := fleet.ReadPlan(f.exchange)
	if err != nil {
		f.t.Fatal(err)
	}
	slice, err := fleet.OpenSlice(f.exchange, plan, shard, "")
	if err != nil {
		f.t.Fatal(err)
	}
	defer slice.Close()
	r := f.runner()
	r.Self, r.Shards, r.Store = plan.ShardOwner(shard), len(plan.Shards), slice
	tick, err := r.Run(f.t.Context())
	if err == nil {
		err = slice.Report(tick)
	}
	if err != nil {
		f.t.Fatalf("shard %d: %v\n%s", shard, err, f.log)
	}
	return tick
}

// collect collects what the shards left.
func (f *fleetTest) collect() report.Tick {
	f.t.Helper()
	plan, err := fleet.ReadPlan(f.exchange)
	if err != nil {
		f.t.Fatal(err)
	}
	results, refused := fleet.ReadResults(f.exchange, plan)
	if len(refused) > 0 {
		f.t.Errorf("refused: %v", refused)
	}
	_, tick, err := f.runner().Collect(f.t.Context(), plan, results)
	if err != nil {
		f.t.Fatalf("collect: %v\n%s", err, f.log)
	}
	return tick
}

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
			!strings.Contains(text, "shard 2 of run 77: its result came after its issues had been taken over, so only its spending counts") {
			t.Errorf("the report of the second collect has the rows %+v\n%s", again.Rows, text)
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

func TestWhatIsCollectedStaysWhenTheTrackerCannotBeRead(t *testing.T) {
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

func TestResultsThatNobodyCollectedAreTakenOverByTheNextTick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"), issue("ABC-3", "Todo"))
		f.plan(3, 1)
		f.work(1)
		f.work(2)
		f.status[1], f.status[2], f.status[3] = schedule.Dead, schedule.Dead, schedule.Dead
		asked := 0
		r := f.runner()
		r.Self = schedule.Owner{Run: "78", Attempt: 1}
		r.MaxIssues = 1
		r.LeftResults = func(_ context.Context, run string, attempt int) ([]fleet.Result, error) {
			if asked++; run != "77" || attempt != 1 {
				t.Errorf("asked for %s, attempt %d", run, attempt)
			}
			plan, err := fleet.ReadPlan(f.exchange)
			if err != nil {
				return nil, err
			}
			results, _ := fleet.ReadResults(f.exchange, plan)
			return results, nil
		}
		f.store.fail = func() error { // another run saves meanwhile
			f.store.fail = nil
			f.edit(func(s *schedule.State) { s.Salt = "salt" })
			return nil
		}
		tick, err := r.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if asked != 1 || tick.Counts().Completed != 3 || len(f.claims()) != 0 {
			t.Errorf("asked %d times, report %+v, claims %v", asked, tick.Counts(), f.claims())
		}
		if spent := f.state().SpentToday(time.Now()); spent.Sessions != 3 || spent.Usage.Total() != 360 {
			t.Errorf("spent %+v, want that of three sessions", spent)
		}
		if tick.Spent.Sessions != 1 {
			t.Errorf("the tick has started %d sessions, want one", tick.Spent.Sessions)
		}
	})
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

// A server that cannot be asked about shards ends their time all the same.
func TestResultsOfShardsThatCannotBeAskedAboutAreTakenOverWhenTheirTimeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"))
		f.plan(2, 1)
		f.work(1)
		asked := 0
		tick := func() report.Tick {
			r := f.runner()
			r.Self = schedule.Owner{Run: "78", Attempt: 1}
			r.OrderOnly = true
			r.LeftResults = func(context.Context, string, int) ([]fleet.Result, error) {
				asked++
				plan, err := fleet.ReadPlan(f.exchange)
				if err != nil {
					return nil, err
				}
				results, _ := fleet.ReadResults(f.exchange, plan)
				return results, nil
			}
			tick, err := r.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return tick
		}
		passes(t.Context(), 2*time.Hour-time.Minute)
		if tick(); asked != 0 || len(f.claims()) != 2 {
			t.Errorf("while they may work: asked %d times, claims %v", asked, f.claims())
		}
		passes(t.Context(), time.Minute)
		got := tick()
		if c := f.claims()["ABC-2"]; asked != 1 || len(f.claims()) != 1 || c.Phase != schedule.Waiting || c.Failures != 1 || got.Counts().Completed != 1 {
			t.Errorf("afterwards: asked %d times, claims %v, report %+v", asked, f.claims(), got.Counts())
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
