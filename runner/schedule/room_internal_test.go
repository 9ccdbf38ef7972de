package schedule

import (
	"testing"
	"time"
)

func TestAHostIsChosenByItsLastSessionAndItsLoad(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	down := FailedHosts{"a": {Until: now.Add(time.Minute), Failures: 1}}
	back := FailedHosts{"a": {Until: now, Failures: 1}}
	for name, test := range map[string]struct {
		each     int
		failed   FailedHosts
		sessions []string // hosts of the sessions that run
		last     string
		want     string
	}{
		"the host of the last session":     {2, nil, []string{"b"}, "b", "b"},
		"it is full":                       {1, nil, []string{"b"}, "b", "a"},
		"the least load":                   {0, nil, []string{"a", "b", "b"}, "", "c"},
		"the first of those":               {0, nil, nil, "", "a"},
		"one that is down":                 {0, down, nil, "a", "b"},
		"one that failed is the last":      {0, back, []string{"b", "c"}, "a", "b"},
		"one that failed is tried":         {0, back, []string{"b", "c"}, "", "a"},
		"one that failed, and is tried":    {0, back, []string{"a", "b", "c"}, "", "b"},
		"the last host is no host of ours": {0, nil, []string{"a"}, "z", "b"},
	} {
		slots := hostSlots{names: []string{"a", "b", "c"}, each: test.each, failed: test.failed, now: now, loads: map[string]hostLoad{}}
		for _, host := range test.sessions {
			slots.add(host, now)
		}
		if got := slots.choose(test.last); got != test.want || !slots.none().None() {
			t.Errorf("%s: %q, want %q; %v", name, got, test.want, slots.none())
		}
	}
}

func TestARoomCountsTheSessionsOfItsRunAgainstTheLimit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	me, shard := Owner{Run: "1"}, Owner{Run: "2", Shard: 1}
	s := New(me)
	s.Reserves = map[Owner]Reserve{shard: {Fleet: "main.yml"}}
	for name, test := range map[string]struct {
		policy Policy
		owner  Owner
		want   Reason
	}{
		"an own session":                     {Policy{MaxConcurrent: 1}, me, NoSlots},
		"one of another process":             {Policy{MaxConcurrent: 1}, Owner{Run: "3"}, NoSlots},
		"one of a shard":                     {Policy{MaxConcurrent: 1}, shard, ""},
		"a fleet: one of a process":          {Policy{MaxConcurrent: 1, OfFleet: true, Fleet: "main.yml"}, Owner{Run: "3"}, ""},
		"a fleet: one of its shards":         {Policy{MaxConcurrent: 1, OfFleet: true, Fleet: "main.yml"}, shard, NoSlots},
		"a fleet: one of a shard of another": {Policy{MaxConcurrent: 1, OfFleet: true, Fleet: "gpu.yml"}, shard, ""},
	} {
		r := newRoom(s, Why{}, test.policy, now, false)
		r.occupy(Claim{Owner: test.owner}, "todo", now)
		if why := r.none(); why.Reason != test.want {
			t.Errorf("%s: %v, want %v", name, why, test.want)
		}
	}
}
