package schedule_test

import (
	"encoding/json"
	"fmt"
	"maps"
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

func TestAShardWorksOnItsSliceAndLeavesItsResult(t *testing.T) {
	t.Parallel()
	f, owners := candidates(2).assigned(aFleet(2, 1))
	before := f.state.Clone()
	slice := f.state.Slice(owners[0], f.now)
	f.works(slice)
	if c := slice.Claims["1"]; c.Phase != schedule.Running || c.Owner != owners[0] || c.Sessions != 1 || len(slice.Claims) != 1 {
		t.Fatalf("the shard works on %+v", slice.Claims)
	}
	slice.Exit("1", schedule.Outcome{Class: schedule.Done, Turns: 1, Thread: "th", Usage: schedule.Usage{Input: 70, Output: 7}}, f.policy, f.now)
	settled, err := f.state.Settle(owners[0], slice, f.policy, f.now)
	if err != nil || !slices.Equal(settled, []tracker.ID{"1"}) {
		t.Fatalf("settled %v, %v", settled, err)
	}
	c := f.state.Claims["1"]
	if c.Phase != schedule.Waiting || c.Why != "continuation" || c.Thread != "th" || c.Sessions != 1 || c.Tokens != 77 {
		t.Errorf("it became %+v", c)
	}
	if day := f.state.SpentToday(f.now); day.Sessions != 1 || day.Usage.Total() != 77 {
		t.Errorf("the day is %+v", day)
	}
	if _, open := f.state.Reserves[owners[0]]; open || len(f.state.Reserves) != 1 {
		t.Errorf("open: %v", f.state.Reserves)
	}
	if diff := cmp.Diff(before.Claims["2"], f.state.Claims["2"]); diff != "" {
		t.Errorf("the claim of another shard changed: %s", diff)
	}
	once := f.state.Clone()
	if settled, err := f.state.Settle(owners[0], slice, f.policy, f.now); err != nil || settled != nil {
		t.Errorf("again: %v, %v", settled, err)
	}
	if diff := cmp.Diff(once, f.state); diff != "" {
		t.Errorf("a result that came twice changed something: %s", diff)
	}
}

func TestASessionOfAKilledShardFails(t *testing.T) {
	t.Parallel()
	f, owners := candidates(1).assigned(aFleet(1, 1))
	slice := f.state.Slice(owners[0], f.now)
	f.works(slice)
	slice.Heartbeat("1", schedule.Update{Usage: schedule.Usage{Input: 5}, Thread: "th"}, f.now)
	if _, err := f.state.Settle(owners[0], slice, f.policy, f.now); err != nil {
		t.Fatal(err)
	}
	c := f.state.Claims["1"]
	if c.Phase != schedule.Waiting || c.Due != f.now || c.Failures != 1 || c.Why != "shard 1 of run 5 ended before its session did" || c.Tokens != 5 || c.Thread != "th" {
		t.Errorf("it became %+v", c)
	}
	checkShape(t, c)
}

func TestAResultThatIsLateChangesNothingButTheSpending(t *testing.T) {
	t.Parallel()
	f, owners := candidates(1).assigned(aFleet(1, 1))
	f.policy.Delivers = true
	slice := f.state.Slice(owners[0], f.now)
	f.works(slice)
	slice.Exit("1", schedule.Outcome{Class: schedule.Systemic, Why: "the key was refused", Usage: schedule.Usage{Input: 5}}, f.policy, f.now)

	f.state.Adopt(map[schedule.Owner]schedule.OwnerStatus{owners[0]: schedule.Dead}, f.policy, f.now)
	if c, d := f.state.Claims["1"], f.state.Deliveries["1"]; c.Failures != 1 || c.Why != "shard 1 of run 5 ended without releasing its claim" || !d.Lost {
		t.Fatalf("adopted as %+v, delivery %+v", c, d)
	}
	want := f.state.Clone()
	settled, err := f.state.Settle(owners[0], slice, f.policy, f.now)
	if err != nil || settled != nil {
		t.Fatalf("settled %v, %v", settled, err)
	}
	want.Days = slice.Days
	want.Reserves = map[schedule.Owner]schedule.Reserve{}
	if diff := cmp.Diff(want, f.state); diff != "" {
		t.Error(diff)
	}
}

func TestAResultAboutAnIssueThatTheShardWasNotGivenIsRefused(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]func(*schedule.State){
		"a claim":        func(s *schedule.State) { s.Claims["2"] = schedule.Claim{ID: "2", Phase: schedule.Parked} },
		"a delivery":     func(s *schedule.State) { s.Deliver("2", schedule.Delivery{Branch: "b"}) },
		"a conversation": func(s *schedule.State) { s.Conversations["2"] = schedule.Conversation{} },
	} {
		f, owners := candidates(2).assigned(aFleet(2, 1))
		slice := f.state.Slice(owners[0], f.now)
		forge(slice)
		before := f.state.Clone()
		settled, err := f.state.Settle(owners[0], slice, f.policy, f.now)
		if err == nil || settled != nil {
			t.Errorf("%s: settled %v", name, settled)
		}
		if diff := cmp.Diff(before, f.state); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAShardThatNeverBeganIsNotCharged(t *testing.T) {
	t.Parallel()
	f, owners := candidates(1).assigned(aFleet(1, 1))
	adopted := f.state.Adopt(map[schedule.Owner]schedule.OwnerStatus{owners[0]: schedule.Unstarted}, f.policy, f.now)
	c := f.state.Claims["1"]
	if len(adopted) != 1 || c.Phase != schedule.Waiting || !c.Due.Equal(f.now) || c.Failures != 0 || c.Attempt != 0 || c.Sessions != 0 || len(f.state.Reserves) != 0 {
		t.Errorf("adopted %v, it became %+v, open %v", adopted, c, f.state.Reserves)
	}
	if _, delivered := f.state.Deliveries["1"]; delivered {
		t.Error("it may have pushed")
	}
	checkShape(t, c)
}

func TestTheBudgetIsSharedByTheShards(t *testing.T) {
	t.Parallel()
	f := candidates(3)
	f.policy.Budget.TokensPerDay = 1000
	f.state.Days = []schedule.Day{{Date: "2026-03-10", Usage: schedule.Usage{Input: 100}}}
	f, owners := f.assigned(aFleet(2, 2))
	if a, b := f.state.Reserves[owners[0]], f.state.Reserves[owners[1]]; a.Tokens != 600 || b.Tokens != 300 {
		t.Fatalf("shares %v and %v", a, b)
	}
	f.snap.Candidates = append(f.snap.Candidates, todo(4))
	for _, v := range schedule.Explain(f.state, f.snap, f.policy, f.now) {
		if want := "what is left of budget.max_tokens_per_day is reserved for 2 shards of which there is no result yet"; v.Issue.ID == "4" && v.Why.Detail != want {
			t.Errorf("issue 4: %v", v.Why)
		}
	}
	slice := f.state.Slice(owners[1], f.now)
	f.works(slice)
	slice.Heartbeat("2", schedule.Update{Usage: schedule.Usage{Input: 300}}, f.now)
	stops := schedule.Plan(slice, schedule.Snapshot{}, f.policy, f.now)
	if len(stops) != 1 || stops[0].Action != schedule.Stop || stops[0].Why.Detail != "this shard's share of the token budgets is spent" {
		t.Errorf("planned %+v", stops)
	}
}

func TestAnIssueReservesNoMoreThanItsOwnBudget(t *testing.T) {
	t.Parallel()
	f := candidates(2)
	f.policy.Budget.TokensPerDay, f.policy.Budget.TokensPerIssue = 1000, 200
	f.state.Claims["2"] = schedule.Claim{ID: "2", Identifier: "ABC-2", Phase: schedule.Waiting, Attempt: 1, Due: f.now, Tokens: 150}
	two := todo(2)
	f.snap.Claimed = map[tracker.ID]*tracker.Issue{"2": &two}
	f, owners := f.assigned(aFleet(1, 2))
	if got := f.state.Reserves[owners[0]]; got.Tokens != 200+50 || len(got.IDs) != 2 {
		t.Fatalf("the reserve is %+v", got)
	}
	f.state.Adopt(map[schedule.Owner]schedule.OwnerStatus{owners[0]: schedule.Dead}, f.policy, f.now)
	if got := f.state.Reserved(); got.Tokens != 250 {
		t.Errorf("without a result, %+v is set aside", got)
	}
}

func TestOneFaultInTwoShardsIsSystemic(t *testing.T) {
	t.Parallel()
	f, owners := candidates(2).assigned(aFleet(2, 1))
	var faults []schedule.Fault
	for i, owner := range owners {
		id := tracker.ID(fmt.Sprint(i + 1))
		slice := f.state.Slice(owner, f.now)
		f.works(slice)
		o, _ := slice.Reclassify(id, schedule.Outcome{Class: schedule.IssueFailed, Why: "the hook failed", Fault: "hook"})
		slice.Exit(id, o, f.policy, f.now)
		if _, err := f.state.Settle(owner, slice, f.policy, f.now); err != nil {
			t.Fatal(err)
		}
		faults = append(faults, slice.Faults...)
	}
	if c := f.state.Claims["1"]; c.Failures != 1 {
		t.Fatalf("one shard alone charges its issue: %+v", c)
	}
	if excused := f.state.Clone().SettleFaults(faults, true, f.policy, f.now); excused != nil {
		t.Errorf("excused %v although a session had a turn", excused)
	}
	excused := f.state.SettleFaults(faults, false, f.policy, f.now)
	if len(excused) != 2 || f.state.Claims["1"].Failures != 0 || f.state.Claims["2"].Failures != 0 {
		t.Errorf("excused %v, claims %+v", excused, f.state.Claims)
	}
	if want := "the first issues of the tick fail in the same way: the hook failed"; f.state.Pause.Why != want {
		t.Errorf("the pause is %+v", f.state.Pause)
	}
}

func TestAFaultThatOneShardFoundSystemicExcusesTheOtherShards(t *testing.T) {
	t.Parallel()
	f, owners := candidates(3).assigned(aFleet(2, 2))
	var faults []schedule.Fault
	var paused schedule.Pause
	for _, owner := range owners {
		slice := f.state.Slice(owner, f.now)
		f.works(slice)
		shard := fixture{state: slice, policy: f.policy}
		for _, id := range slices.Sorted(maps.Keys(slice.Claims)) {
			shard.exit(id, fault(cloneFailed))
		}
		if _, err := f.state.Settle(owner, slice, f.policy, f.now); err != nil {
			t.Fatal(err)
		}
		if faults = append(faults, slice.Faults...); len(slice.Faults) == 2 {
			paused = f.state.Pause
			if excused := f.state.Clone().SettleFaults(slice.Faults, false, f.policy, f.now); paused.Why == "" || excused != nil {
				t.Errorf("the pause of the shard is %+v, and %v is excused again", paused, excused)
			}
		}
	}
	excused := f.state.SettleFaults(faults, false, f.policy, f.now)
	if len(faults) != 3 || len(excused) != 1 {
		t.Fatalf("of %v excused %v", faults, excused)
	}
	for id, c := range f.state.Claims {
		if c.Failures != 0 || c.Phase != schedule.Waiting || c.Why != paused.Why {
			t.Errorf("%s is charged: %+v", id, c)
		}
	}
}

func TestWhatAShardFoundOutAboutAPauseIsSettled(t *testing.T) {
	t.Parallel()
	before := schedule.Pause{Why: "the key was refused", Since: noon.Add(-time.Hour), Until: noon.Add(-time.Minute)}
	since := schedule.Pause{Why: "the quota is used up", Since: noon.Add(time.Minute), Until: noon.Add(20 * time.Minute)}
	longer := schedule.Pause{Why: "the quota is used up", Since: noon.Add(2 * time.Minute), Until: noon.Add(10 * time.Minute)}
	ended := before
	ended.Until = noon.Add(-2 * time.Minute)
	latest := longer
	latest.Until = since.Until
	for name, test := range map[string]struct{ state, shard, want schedule.Pause }{
		"nothing happened":                       {before, before, before},
		"its session worked":                     {before, schedule.Pause{}, schedule.Pause{}},
		"its session worked, another one paused": {since, schedule.Pause{}, since},
		"a person ended it":                      {before, ended, ended},
		"it paused":                              {schedule.Pause{}, since, since},
		"it paused again":                        {before, since, since},
		"both paused, it did first":              {longer, since, latest},
		"both paused, it did last":               {since, longer, latest},
		"the pause it began with is over":        {schedule.Pause{}, before, before},
	} {
		f, owners := candidates(1).assigned(aFleet(1, 1))
		slice := f.state.Slice(owners[0], f.now)
		f.state.Pause, slice.Pause = test.state, test.shard
		if _, err := f.state.Settle(owners[0], slice, f.policy, f.now.Add(time.Hour)); err != nil || f.state.Pause != test.want {
			t.Errorf("%s: %v, the pause is %+v", name, err, f.state.Pause)
		}
	}
}

func TestWhatAShardLearnedIsSettled(t *testing.T) {
	t.Parallel()
	f, owners := candidates(1).assigned(aFleet(1, 1))
	f.state.RateLimits = json.RawMessage(`{"old":1}`)
	slice := f.state.Slice(owners[0], f.now)
	if slice.RateLimits != nil {
		t.Error("the rate limits of the state would be taken for those of the shard")
	}
	f.works(slice)
	slice.Wait = schedule.TrackerWait{Tracker: "github", Until: f.now.Add(time.Minute)}
	slice.RateLimits = json.RawMessage(`{"new":1}`)
	slice.Deliver("1", schedule.Delivery{Identifier: "ABC-1", Branch: "symphony/ABC-1", Pushing: "c0ffee"})
	slice.Converse("1", func(c *schedule.Conversation) { c.Posted = "77c2" })
	f.state.Order("1", schedule.Order{Command: schedule.CommandPark, By: "kim"}, f.now) // while the shard works
	if _, err := f.state.Settle(owners[0], slice, f.policy, f.now); err != nil {
		t.Fatal(err)
	}
	if s := f.state; s.Wait != slice.Wait || string(s.RateLimits) != `{"new":1}` || s.Deliveries["1"] != slice.Deliveries["1"] {
		t.Errorf("settled %+v", s)
	}
	if talk := f.state.Conversations["1"]; talk.Posted != "77c2" || talk.Ordered.By != "kim" {
		t.Errorf("the conversation is %+v", talk)
	}
}

func TestAClaimThatTheShardReleasedIsReleased(t *testing.T) {
	t.Parallel()
	f, owners := candidates(1).assigned(aFleet(1, 1))
	slice := f.state.Slice(owners[0], f.now)
	f.works(slice)
	done := todo(1)
	done.State = "Done"
	slice.Exit("1", schedule.Outcome{Class: schedule.Done, Issue: &done}, f.policy, f.now)
	settled, err := f.state.Settle(owners[0], slice, f.policy, f.now)
	if err != nil || !slices.Equal(settled, []tracker.ID{"1"}) || len(f.state.Claims) != 0 || len(f.state.Conversations) != 0 {
		t.Errorf("settled %v, %v: %+v", settled, err, f.state)
	}
}

// Digests that were made with different salts always differ, so that every parked claim
// would be free to go on.
func TestDigestsOfAnotherSaltAreForgotten(t *testing.T) {
	t.Parallel()
	f, owners := candidates(3).assigned(aFleet(3, 1))
	for i, salt := range []string{"a", "b", "a"} {
		id := tracker.ID(fmt.Sprint(i + 1))
		slice := f.state.Slice(owners[i], f.now)
		slice.Salt = salt
		c := slice.Claims[id]
		c.Setup.Workflow = "digest"
		slice.Claims[id] = c
		if _, err := f.state.Settle(owners[i], slice, f.policy, f.now); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[tracker.ID]string{"1": "digest", "2": "", "3": "digest"} {
		if got := f.state.Claims[id].Setup.Workflow; got != want || f.state.Salt != "a" {
			t.Errorf("issue %s has digest %q, the salt is %q", id, got, f.state.Salt)
		}
	}
}

func TestAShardGetsWhatItsIssuesNeedAndNothingElse(t *testing.T) {
	t.Parallel()
	f := candidates(2)
	f.state.Deliver("9", schedule.Delivery{Branch: "b"})
	f.state.Days = []schedule.Day{{Date: "2026-03-10", Sessions: 4}}
	f.state.History = []schedule.TickRecord{{Run: "4"}}
	f.state.Salt = "salt"
	f, owners := f.assigned(aFleet(2, 1))
	want := schedule.New(owners[1])
	c := f.state.Claims["2"]
	c.Phase, c.Why, c.Owner, c.Lease, c.Due, c.Sessions = schedule.Waiting, "its session was not started", schedule.Owner{}, time.Time{}, f.now, 0
	want.Claims["2"] = c
	want.Conversations = map[tracker.ID]schedule.Conversation{"2": f.state.Conversations["2"]}
	want.Reserves = map[schedule.Owner]schedule.Reserve{owners[1]: {Since: f.now, IDs: []tracker.ID{"2"}}}
	want.Salt = "salt"
	if diff := cmp.Diff(want, f.state.Slice(owners[1], f.now)); diff != "" {
		t.Error(diff)
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
	if n := started(alone); n != 3 || !schedule.NoRoom(f.state, f.snap, alone, f.now).None() {
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

func TestReservesOfLostShardsAreForgotten(t *testing.T) {
	t.Parallel()
	f, owners := candidates(2).assigned(aFleet(2, 1))
	lives := map[schedule.Owner]schedule.OwnerStatus{owners[0]: schedule.Dead, owners[1]: schedule.Alive}
	f.state.Adopt(lives, f.policy, f.now.Add(20*time.Hour))
	f.state.Adopt(lives, f.policy, f.now.Add(45*time.Hour))
	if len(f.state.Reserves) != 2 {
		t.Fatalf("the result can come until a day after the claims were taken over: %v", f.state.Reserves)
	}
	f.state.Adopt(lives, f.policy, f.now.Add(45*time.Hour+1))
	if _, open := f.state.Reserves[owners[1]]; len(f.state.Reserves) != 1 || !open {
		t.Errorf("open: %v", f.state.Reserves)
	}
	for i := range 2500 {
		f.state.Reserves[schedule.Owner{Run: "6", Shard: 1, PID: i}] = schedule.Reserve{Since: f.now.Add(time.Duration(i)), IDs: []tracker.ID{"7"}}
	}
	f.state.Adopt(lives, f.policy, f.now)
	if _, oldest := f.state.Reserves[schedule.Owner{Run: "6", Shard: 1, PID: 499}]; len(f.state.Reserves) != 2001 || oldest {
		t.Errorf("%d are kept, the oldest too: %v", len(f.state.Reserves), oldest)
	}
}

// Each delivery is read in every tick.
func TestALostShardLeavesNoDeliveryOfAnIssueThatIsOver(t *testing.T) {
	t.Parallel()
	adopted := func(delivers bool) fixture {
		f, owners := candidates(1).assigned(aFleet(1, 1))
		f.policy.Delivers = delivers
		f.state.Adopt(map[schedule.Owner]schedule.OwnerStatus{owners[0]: schedule.Dead}, f.policy, f.now)
		return f
	}
	if f := adopted(false); len(f.state.Deliveries) != 0 {
		t.Errorf("nothing is delivered, yet the state has %+v", f.state.Deliveries)
	}
	done := todo(1)
	done.State = "Done"
	closed := adopted(true)
	closed.snap.Claimed = map[tracker.ID]*tracker.Issue{"1": &done}
	closed = closed.then(closed.plan())
	ended, open := adopted(true), todo(1)
	ended.snap.Claimed = map[tracker.ID]*tracker.Issue{"1": &open}
	ended = ended.then(ended.plan())
	ended.state.Exit("1", schedule.Outcome{Class: schedule.IssueFailed, Issue: &done}, ended.policy, ended.now)
	for name, f := range map[string]fixture{"closed": closed, "ended": ended} {
		if s := f.state; len(s.Claims) != 0 || len(s.Deliveries) != 0 || len(s.Conversations) != 0 {
			t.Errorf("%s: the state keeps %+v, %+v, %+v", name, s.Claims, s.Deliveries, s.Conversations)
		}
	}
}
