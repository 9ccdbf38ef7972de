package schedule_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// aFleet returns a fleet of the given size, of run 5.
func aFleet(shards, slots int) schedule.Fleet {
	owner := schedule.Owner{Run: "5", Attempt: 1, Started: noon.UnixMilli(), Limit: 3600}
	return schedule.Fleet{Owner: owner, Shards: shards, Slots: slots, Lease: 2 * time.Hour}
}

// assigned returns the fixture after a plan whose sessions the fleet works on, and the
// owners of its shards.
func (f fixture) assigned(fleet schedule.Fleet) (fixture, []schedule.Owner) {
	p := fleet.Bind(f.policy)
	ds, shards := fleet.Spread(f.state, schedule.Plan(f.state, f.snap, p, f.now), p, f.now)
	f = f.then(ds)
	var owners []schedule.Owner
	for _, shard := range shards {
		owners = append(owners, fleet.Owner.OfShard(shard.Number))
	}
	return f, owners
}

// works plans and applies what a shard starts in its slice.
func (f fixture) works(slice *schedule.State) {
	p := f.policy
	p.MaxPerTick = len(slice.Claims)
	snap := schedule.Snapshot{Claimed: map[tracker.ID]*tracker.Issue{}}
	for _, issue := range f.snap.Candidates {
		snap.Claimed[issue.ID] = &issue
	}
	for _, d := range schedule.Plan(slice, snap, p, f.now) {
		slice.Apply(d, f.now)
	}
}

func candidates(n int) fixture {
	f := simple()
	for i := range n {
		f.snap.Candidates = append(f.snap.Candidates, todo(i+1))
	}
	return f
}

func TestAFleetHasAsFewShardsAsHoldAllFilledEvenly(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ issues, shards, slots, want, most, least, left int }{
		{0, 4, 2, 0, 0, 0, 0},
		{1, 4, 2, 1, 1, 1, 0},
		{4, 4, 2, 2, 2, 2, 0},
		{7, 4, 3, 3, 3, 2, 0},
		{9, 4, 2, 4, 2, 2, 1},
		{3, 0, 0, 1, 1, 1, 2},
	} {
		f, owners := candidates(test.issues).assigned(aFleet(test.shards, test.slots))
		if len(owners) != test.want || len(f.state.Claims) != test.issues-test.left {
			t.Errorf("%+v: %d shards with %d issues", test, len(owners), len(f.state.Claims))
		}
		for _, o := range owners {
			if n := len(f.state.Reserves[o].IDs); n > test.most || n < test.least {
				t.Errorf("%+v: shard %d has %d issues", test, o.Shard, n)
			}
		}
	}
}

func TestIssuesThatNeedDifferentRunnersShareNoShard(t *testing.T) {
	t.Parallel()
	fleet := aFleet(3, 2)
	fleet.RunsOn = map[string][]string{"gpu": {"self-hosted", "gpu"}, "arm": {"ubuntu-arm"}, "x-gpu": {"self-hosted", "gpu"}}
	var ds []schedule.Decision
	for i, labels := range [][]string{{"gpu"}, nil, {"x-gpu", "other"}, {"gpu", "arm"}, {"gpu"}, nil, nil} {
		issue := todo(i + 1)
		issue.Labels = labels
		ds = append(ds, schedule.Decision{Action: schedule.Dispatch, ID: issue.ID, Issue: issue})
	}
	ds = append(ds, schedule.Decision{Action: schedule.Release, ID: "9"})
	spread, shards := fleet.Spread(schedule.New(me), ds, schedule.Policy{}, noon)
	want := []schedule.Shard{
		{Number: 1, RunsOn: []string{"self-hosted", "gpu"}, IDs: []tracker.ID{"1", "3"}},
		{Number: 2, IDs: []tracker.ID{"2", "6"}},
		{Number: 3, RunsOn: []string{"ubuntu-arm"}, IDs: []tracker.ID{"4"}},
	}
	if diff := cmp.Diff(want, shards); diff != "" {
		t.Error(diff)
	}
	var got []string
	for _, d := range spread {
		got = append(got, fmt.Sprintf("%s %s %d", d.Action, d.ID, d.Owner.Shard))
	}
	if want := []string{"dispatch 1 1", "dispatch 2 2", "dispatch 3 1", "dispatch 4 3", "dispatch 6 2", "release 9 0"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestAClaimSaysInWhichShardItsSessionIs(t *testing.T) {
	t.Parallel()
	asked, byHand := aFleet(1, 1), aFleet(1, 1)
	byHand.Owner.Run = ""
	for want, fleet := range map[string]schedule.Fleet{
		"a session works on it in shard 1 of run 5":                                                          asked,
		"a session works on it in shard 1, until 2026-03-10T14:00:00Z unless its result is collected before": byHand,
	} {
		f, _ := candidates(1).assigned(fleet)
		for _, v := range schedule.Explain(f.state, f.snap, f.policy, f.now) {
			if v.Why.Detail != want {
				t.Errorf("got %q, want %q", v.Why.Detail, want)
			}
		}
	}
}

func TestAFleetHasTheLimitsOfAllItsShards(t *testing.T) {
	t.Parallel()
	p := schedule.Policy{MaxConcurrent: 2, MaxPerState: map[string]int{"todo": 1}}
	if got := aFleet(8, 2).Bind(p); got.MaxConcurrent != 16 || got.PerTick() != 16 || got.MaxPerState["todo"] != 1 {
		t.Errorf("got %+v", got)
	}
	p.MaxPerTick = 5
	if got := aFleet(1000, 1000).Bind(p); got.MaxConcurrent != schedule.MaxShards*schedule.MaxSlots || got.PerTick() != 5 {
		t.Errorf("got %+v", got)
	}
}

func TestAFleetHasItsOwnSlotsBesideOtherRuns(t *testing.T) {
	t.Parallel()
	named := func(name, run string, shards int) schedule.Fleet {
		fleet := aFleet(shards, 2)
		fleet.Name, fleet.Owner.Run = name, run
		return fleet
	}
	f := candidates(12)
	f, full := f.assigned(named("main.yml", "1", 2))
	started := func(p schedule.Policy) int { return len(dispatched(schedule.Plan(f.state, f.snap, p, f.now))) }
	if len(full) != 2 {
		t.Fatalf("the first fleet has the shards %v", full)
	}
	if n := started(named("gpu.yml", "2", 1).Bind(f.policy)); n != 2 {
		t.Errorf("a small fleet of another workflow starts %d beside a full one", n)
	}
	if n := started(named("main.yml", "3", 2).Bind(f.policy)); n != 0 {
		t.Errorf("the next tick of the full fleet starts %d", n)
	}
	if n := started(named("main.yml", "3", 3).Bind(f.policy)); n != 2 {
		t.Errorf("the next tick of the fleet with one more shard starts %d", n)
	}
	alone := f.policy
	alone.MaxConcurrent = 3
	if n := started(alone); n != 3 || !schedule.NoRoom(f.state, schedule.Why{}, alone, f.now).None() {
		t.Errorf("one process starts %d beside a fleet", n)
	}
	alone.MaxPerState = map[string]int{"todo": 5}
	if n := started(alone); n != 1 {
		t.Errorf("one process starts %d beside 4 sessions of a fleet in a state that has 5", n)
	}
	f.claim(todo(9), schedule.Running, func(c *schedule.Claim) { c.Owner = other })
	if n := started(named("gpu.yml", "2", 1).Bind(f.policy)); n != 2 {
		t.Errorf("a fleet starts %d beside a process", n)
	}
}

func TestALeaseOfAShardIsBoundedByTheTimeAShardCanTake(t *testing.T) {
	t.Parallel()
	fleet := aFleet(1, 1)
	fleet.Lease = schedule.MaxShardTime
	f, owners := candidates(1).assigned(fleet)
	if wrong := f.state.BoundTimes(f.policy, f.now); wrong != nil {
		t.Fatalf("wrong: %v", wrong)
	}
	c := f.state.Claims["1"]
	c.Lease = f.now.Add(10 * schedule.MaxShardTime)
	f.state.Claims["1"] = c
	r := f.state.Reserves[owners[0]]
	r.Since = f.now.Add(time.Hour)
	f.state.Reserves[owners[0]] = r
	if wrong := f.state.BoundTimes(f.policy, f.now); len(wrong) != 2 {
		t.Errorf("wrong: %v", wrong)
	}
	if lease, since := f.state.Claims["1"].Lease, f.state.Reserves[owners[0]].Since; !lease.Equal(f.now.Add(schedule.MaxShardTime)) || !since.Equal(f.now) {
		t.Errorf("the lease is until %v, planned at %v", lease, since)
	}
}
