package schedule_test

import (
	"fmt"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// A plan says what should happen now. The state changes only when a decision is applied.
func ExamplePlan() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	state := schedule.New(schedule.Owner{Run: "1"})
	policy := schedule.Policy{ActiveStates: []string{"Todo"}, TerminalStates: []string{"Done"}, MaxConcurrent: 1}
	snapshot := schedule.Snapshot{Candidates: []tracker.Issue{
		{ID: "7", Identifier: "GH-7", Title: "Fix the login", State: "Todo", Dispatchable: true},
		{ID: "8", Identifier: "GH-8", Title: "Write the manual", State: "Todo", Dispatchable: true},
	}}
	for _, d := range schedule.Plan(state, snapshot, policy, now) {
		fmt.Println(d.Action, d.Issue.Identifier)
		state.Apply(d, now)
	}
	for _, v := range schedule.Explain(state, snapshot, policy, now) {
		fmt.Println(v.Issue.Identifier, v.Phase, v.Why)
	}
	// Output:
	// dispatch GH-7
	// GH-7 running a session works on it
	// GH-8  no available orchestrator slots
}
