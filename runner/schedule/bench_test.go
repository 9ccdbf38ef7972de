package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// BenchmarkPlan plans for a large tracker: unsorted candidates, a tenth of them claimed
// in all phases. The goal is 50 ms for 10,000 candidates, and linear growth.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{10_000, 20_000} {
		b.Run(fmt.Sprintf("candidates=%d", n), func(b *testing.B) {
			f := crowd(n)
			b.ReportAllocs()
			for b.Loop() {
				if len(f.plan()) == 0 {
					b.Fatal("nothing is decided")
				}
			}
		})
	}
}

func BenchmarkExplain(b *testing.B) {
	f := crowd(10_000)
	b.ReportAllocs()
	for b.Loop() {
		schedule.Explain(f.state, f.snap, f.policy, f.now)
	}
}

// BenchmarkFleet plans for the largest fleet in a large state, and settles what its shards
// leave: 4096 sessions beside 15,000 parked issues. The goal is a second for each part.
func BenchmarkFleet(b *testing.B) {
	f := candidates(schedule.MaxShards * schedule.MaxSlots)
	f.policy.MaxPerTick, f.policy.MaxPerState = 0, nil
	for i := range 15_000 {
		f.claim(todo(10_000+i), schedule.Parked, nil)
	}
	b.ReportAllocs()
	for b.Loop() {
		f, owners := f.assigned(aFleet(schedule.MaxShards, schedule.MaxSlots))
		slices := make([]*schedule.State, len(owners))
		for i, owner := range owners {
			slices[i] = f.state.Slice(owner, f.now)
		}
		for i, owner := range owners {
			if settled, err := f.state.Settle(owner, slices[i], f.policy, f.now); err != nil || len(settled) != schedule.MaxSlots {
				b.Fatal(settled, err)
			}
		}
	}
}

// crowd returns a fixture of n candidates, of which every tenth is claimed.
func crowd(n int) fixture {
	f := simple()
	f.policy.MaxConcurrent, f.policy.MaxPerTick = n/10, n/20
	f.policy.MaxPerState = map[string]int{"in progress": n / 20}
	phases := []schedule.Phase{schedule.Running, schedule.Waiting, schedule.Waiting, schedule.Parked}
	for i := range n {
		issue := todo(i * 7919 % n) // a prime: every number once, unsorted
		priority := i % 6
		issue.Priority, issue.CreatedAt = &priority, noon.Add(-time.Duration(i%1000)*time.Minute)
		issue.Description = "Some sentences that say what is to be done, and why it matters."
		if i%3 == 0 {
			issue.State = "In Progress"
		}
		if i%5 == 0 {
			issue.BlockedBy = []tracker.Blocker{{Identifier: "ABC-0", State: "Done"}, {Identifier: "ABC-1", State: "Todo"}}
		}
		f.snap.Candidates = append(f.snap.Candidates, issue)
		if i%10 == 0 {
			f.claim(issue, phases[i/10%len(phases)], nil)
			f.snap.Claimed[issue.ID] = &issue
		}
	}
	return f
}
