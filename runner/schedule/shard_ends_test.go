package schedule_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestAPauseNeedsMoreThanOneShard(t *testing.T) {
	t.Parallel()
	pause := func(why string, cause schedule.Cause, until time.Duration) schedule.Pause {
		return schedule.Pause{Why: why, Since: noon.Add(time.Minute), Until: noon.Add(until), Cause: cause}
	}
	before := schedule.Pause{Why: "the key was refused", Since: noon.Add(-time.Hour), Until: noon.Add(-time.Minute)}
	refused, machine := pause("the key was refused", "", 20*time.Minute), pause("the disk is full", schedule.CauseMachine, 30*time.Minute)
	week := pause("the quota is used up", "", 7*24*time.Hour)
	settled := noon.Add(10 * time.Minute)
	until := func(p schedule.Pause, at time.Time) schedule.Pause { p.Until = at; return p }
	forged := before
	forged.Until = settled.Add(time.Hour)
	type shard struct {
		pause schedule.Pause
		turn  bool
	}
	for name, test := range map[string]struct {
		state  schedule.Pause
		shards []shard
		want   schedule.Pause
	}{
		"nothing happened":                         {before, []shard{{before, false}}, before},
		"a session worked":                         {before, []shard{{schedule.Pause{}, true}}, schedule.Pause{}},
		"a shard without a turn ends none":         {before, []shard{{schedule.Pause{}, false}}, before},
		"a shard makes the pause of before longer": {before, []shard{{forged, false}}, before},
		"one shard has it, nobody worked":          {schedule.Pause{}, []shard{{week, false}, {schedule.Pause{}, false}}, until(week, settled)},
		"one shard has it, another one worked":     {schedule.Pause{}, []shard{{week, false}, {schedule.Pause{}, true}}, schedule.Pause{}},
		"two have it: the time that both have":     {schedule.Pause{}, []shard{{week, false}, {refused, false}, {schedule.Pause{}, true}}, refused},
		"two have it for different causes":         {schedule.Pause{}, []shard{{refused, false}, {machine, false}}, until(machine, settled)},
		"the state had it when it was planned":     {before, []shard{{week, false}}, until(week, settled.Add(5*time.Minute))},
		"the pause it began with is over":          {schedule.Pause{}, []shard{{before, false}}, schedule.Pause{}},
	} {
		f, owners := candidates(len(test.shards)).assigned(aFleet(len(test.shards), 1))
		f.policy.MaxBackoff = 5 * time.Minute
		var ends schedule.ShardEnds
		for i, shard := range test.shards {
			slice := f.state.Slice(owners[i], f.now)
			slice.Pause, slice.Tick.HadTurn = shard.pause, shard.turn
			ends = append(ends, schedule.ShardEnd{Slice: slice, Planned: noon})
		}
		f.state.Pause = test.state
		_, ignored := ends.Settle(f.state, f.policy, settled)
		if f.state.Pause != test.want {
			t.Errorf("%s: the pause is %+v, want %+v", name, f.state.Pause, test.want)
		}
		if (ignored.Why != "") != (name == "one shard has it, another one worked") {
			t.Errorf("%s: ignored %+v", name, ignored)
		}
	}
}

// A shard alone does not pause what others do, and each of them knows only its own pushes.
func TestTheSameRefusalInTwoShardsIsSystemic(t *testing.T) {
	t.Parallel()
	const signatures = "push: Commits must have verified signatures."
	for name, test := range map[string]struct {
		faults [][]string // faults of the sessions of each shard
		want   string
	}{
		"in two shards":               {[][]string{{signatures}, {""}, {signatures}}, signatures},
		"twice in one, once in other": {[][]string{{signatures, signatures}, {signatures, ""}}, signatures},
		"twice in one":                {[][]string{{signatures, signatures}, {"", ""}}, ""},
		"for other reasons":           {[][]string{{signatures}, {"push: no"}}, ""},
		"for no refusal of a push":    {[][]string{{"hook"}, {"hook"}}, ""},
	} {
		shards, slots := len(test.faults), len(test.faults[0])
		f, owners := candidates(shards * slots).assigned(aFleet(shards, slots))
		var ends schedule.ShardEnds
		for i, faults := range test.faults {
			slice := f.state.Slice(owners[i], f.now)
			ids := slices.Sorted(maps.Keys(slice.Claims))
			for n, fault := range faults {
				c := slice.Claims[ids[n]]
				c.Phase, c.Why, c.Fault, c.Failures = schedule.Waiting, "push_rejected: no", fault, 1
				slice.Claims[ids[n]] = c
			}
			slice.Tick.HadTurn = true
			ends = append(ends, schedule.ShardEnd{Slice: slice, Planned: noon})
			if _, err := f.state.Settle(owners[i], slice, f.policy, f.now); err != nil {
				t.Fatal(err)
			}
		}
		ends.Settle(f.state, f.policy, f.now)
		pause := f.state.Pause
		if pause.Fault != test.want || (pause.Why != "") != (test.want != "") {
			t.Errorf("%s: the pause is %+v", name, pause)
		}
		if test.want == "" {
			continue
		}
		if pause.Cause != schedule.CauseDelivery || pause.Why != "each push is refused in the same way: push_rejected: no" || pause.Until.Before(f.now.Add(time.Hour)) {
			t.Errorf("%s: the pause is %+v", name, pause)
		}
		f.state.Resume(f.now)
		for id, c := range f.state.Claims {
			if c.Failures > 0 && c.Fault != "" {
				t.Errorf("%s: the end of the pause leaves issue %s charged: %+v", name, id, c)
			}
		}
	}
}

func TestOneFaultInTwoShardsIsSystemic(t *testing.T) {
	t.Parallel()
	f, owners := candidates(2).assigned(aFleet(2, 1))
	var ends schedule.ShardEnds
	for i, owner := range owners {
		id := tracker.ID(fmt.Sprint(i + 1))
		slice := f.state.Slice(owner, f.now)
		f.works(slice)
		o, _ := slice.Reclassify(id, schedule.Outcome{Class: schedule.IssueFailed, Why: "the hook failed", Fault: "hook"})
		slice.Exit(id, o, f.policy, f.now)
		if _, err := f.state.Settle(owner, slice, f.policy, f.now); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, schedule.ShardEnd{Slice: slice, Planned: f.now})
	}
	if c := f.state.Claims["1"]; c.Failures != 1 {
		t.Fatalf("one shard alone charges its issue: %+v", c)
	}
	ends[0].Slice.Tick.HadTurn = true
	if excused, _ := ends.Settle(f.state.Clone(), f.policy, f.now); excused != nil {
		t.Errorf("excused %v although a session had a turn", excused)
	}
	ends[0].Slice.Tick.HadTurn = false
	excused, _ := ends.Settle(f.state, f.policy, f.now)
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
	var ends schedule.ShardEnds
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
		ends = append(ends, schedule.ShardEnd{Slice: slice, Planned: f.now})
		if faults = append(faults, slice.Faults...); len(slice.Faults) == 2 {
			if excused, _ := ends[len(ends)-1:].Settle(f.state.Clone(), f.policy, f.now); slice.Pause.Why == "" || excused != nil {
				t.Errorf("the pause of the shard is %+v, and %v is excused again", slice.Pause, excused)
			}
		}
	}
	excused, _ := ends.Settle(f.state, f.policy, f.now)
	paused := f.state.Pause
	if !paused.Until.After(f.now) {
		t.Errorf("two shards have the fault, and the pause is %+v", paused)
	}
	if len(faults) != 3 || len(excused) != 1 {
		t.Fatalf("of %v excused %v", faults, excused)
	}
	for id, c := range f.state.Claims {
		if c.Failures != 0 || c.Phase != schedule.Waiting || c.Why != paused.Why {
			t.Errorf("%s is charged: %+v", id, c)
		}
	}
}

func TestAKeyThatEveryShardWasRefusedIsTriedByASingleSession(t *testing.T) {
	t.Parallel()
	fleet := aFleet(4, 2)
	f, owners := candidates(8).assigned(fleet)
	var ends schedule.ShardEnds
	for _, owner := range owners {
		slice := f.state.Slice(owner, f.now)
		f.works(slice)
		ends = append(ends, schedule.ShardEnd{Slice: slice, Planned: f.now})
		for id := range slice.Claims {
			slice.Exit(id, schedule.Outcome{Class: schedule.Systemic, Why: "unauthorized", RetryAt: noon.Add(time.Hour)}, f.policy, f.now)
		}
		if _, err := f.state.Settle(owner, slice, f.policy, f.now); err != nil {
			t.Fatal(err)
		}
	}
	ends.Settle(f.state, f.policy, f.now)
	for _, issue := range f.snap.Candidates {
		f.snap.Claimed[issue.ID] = &issue
	}
	f.state.NewTick()
	fleet.Owner.Run = "6"
	for after, want := range map[time.Duration]int{time.Hour - time.Second: 0, time.Hour: 1} {
		f.now = noon.Add(after)
		next, shards := f.assigned(fleet)
		started := slices.DeleteFunc(slices.Collect(maps.Values(next.state.Claims)), func(c schedule.Claim) bool { return !holdsSlot(c) })
		if len(f.state.Claims) != 8 || len(owners) != 4 || len(started) != want || len(shards) != want {
			t.Errorf("after %v the next plan starts %d of %d issues in %d shards, want %d", after, len(started), len(f.state.Claims), len(shards), want)
		}
	}
}
