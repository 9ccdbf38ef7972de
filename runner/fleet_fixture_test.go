package runner_test

import (
	"context"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// fleetTest plays the three parts of a fleet's tick on a fixture.
type fleetTest struct {
	*fixture
	remote   *remote // whose sessions these are; nil for those of the fixture
	exchange string
	self     schedule.Owner
	status   map[int]schedule.OwnerStatus // of shards by their number, as GitHub reports it; Unknown if it is missing
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

// plan makes the plan of a fleet of the given numbers of shards and slots, which must succeed.
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

// results returns the plan and the results of the exchange folder, of which none may be refused.
func (f *fleetTest) results() (fleet.Plan, []fleet.Result) {
	f.t.Helper()
	plan, err := fleet.ReadPlan(f.exchange)
	if err != nil {
		f.t.Fatal(err)
	}
	results, refused := fleet.ReadResults(f.exchange, plan)
	if len(refused) > 0 {
		f.t.Errorf("refused: %v", refused)
	}
	return plan, results
}

// collect collects what the shards left.
func (f *fleetTest) collect() report.Tick {
	f.t.Helper()
	plan, results := f.results()
	_, tick, err := f.runner().Collect(f.t.Context(), plan, results)
	if err != nil {
		f.t.Fatalf("collect: %v\n%s", err, f.log)
	}
	return tick
}
