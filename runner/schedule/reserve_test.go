package schedule_test

import (
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

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
