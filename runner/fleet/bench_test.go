package fleet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// largePlan returns a plan of the largest fleet: 16 issues for each of 256 shards, all
// with a conversation and a delivery.
func largePlan() Plan {
	p := samplePlan(schedule.MaxShards)
	for _, slice := range p.Shards {
		slice.State.Conversations = map[tracker.ID]schedule.Conversation{}
		for i := range schedule.MaxSlots - 2 {
			id := tracker.ID(fmt.Sprintf("%d-%d", slice.Number, i))
			c := slice.State.Claims[tracker.ID(fmt.Sprintf("%da", slice.Number))]
			c.ID, c.Identifier = id, "ABC-"+string(id)
			slice.State.Claims[id] = c
		}
		for id, c := range slice.State.Claims {
			mark := schedule.Mark{At: now, IDs: []string{"IC_1@1772366400", "IC_2@1772366401"}, Checks: "8f3a"}
			slice.State.Conversations[id] = schedule.Conversation{ReadUpTo: mark, PromptedUpTo: mark, Rounds: 1}
			slice.State.Deliver(id, schedule.Delivery{Identifier: c.Identifier, Branch: "symphony/" + c.Identifier, Base: "main", Head: strings.Repeat("c0", 20), Number: 7, At: now})
		}
	}
	return p
}

func BenchmarkWriteAndReadTheLargestPlan(b *testing.B) {
	p, exchange := largePlan(), b.TempDir()
	for b.Loop() {
		mustWritePlan(b, exchange, p)
		if _, err := ReadPlan(exchange); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadTheResultsOfTheLargestFleet(b *testing.B) {
	p, exchange := largePlan(), b.TempDir()
	for _, slice := range p.Shards {
		s, err := OpenSlice(exchange, p, slice.Number, "")
		if err != nil {
			b.Fatal(err)
		}
		tick := sampleTick(slice.State, tracker.ID(fmt.Sprintf("%da", slice.Number)))
		for id := range slice.State.Claims {
			if row := tick.Rows[0]; id != row.ID {
				row.ID = id
				tick.Rows = append(tick.Rows, row)
			}
		}
		if err := s.Report(tick); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
	for b.Loop() {
		if results, _ := ReadResults(exchange, p); len(results) != len(p.Shards) {
			b.Fatalf("%d results", len(results))
		}
	}
}
