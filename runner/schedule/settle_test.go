package schedule_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

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

func TestSettleTakesOverDeliveriesAndConversationsOfAShard(t *testing.T) {
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
	converse(slice, "1", func(c *schedule.Conversation) { c.Posted = "77c2" })
	f.state.Order("1", schedule.Order{Command: schedule.CommandPark, By: "kim"}, f.now) // while the shard works
	if _, err := f.state.Settle(owners[0], slice, f.policy, f.now); err != nil {
		t.Fatal(err)
	}
	if s := f.state; s.Wait != (schedule.TrackerWait{}) || string(s.RateLimits) != `{"new":1}` || s.Deliveries["1"] != slice.Deliveries["1"] {
		t.Errorf("settled %+v", s)
	}
	if talk := f.state.Conversations["1"]; talk.Posted != "77c2" || talk.PendingCommand.By != "kim" {
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

func TestAShardCannotHaveUsedMoreThanItsShare(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		budget, input, output, want int64
	}{
		"its share":             {1000, 700, 300, 1000},
		"its last response":     {1000, 500_000, 1000, 501_000},
		"more than it can":      {1000, schedule.MaxTokens, schedule.MaxTokens, 2_001_000},
		"output alone":          {1000, 0, schedule.MaxTokens, 2_001_000},
		"much without a budget": {0, 300_000_000, 0, 300_000_000},
		"all without a budget":  {0, schedule.MaxTokens, 1, 1_000_000_000},
	} {
		f := candidates(1)
		f.policy.Budget.TokensPerDay = test.budget
		f, owners := f.assigned(aFleet(1, 1))
		slice := f.state.Slice(owners[0], f.now)
		f.works(slice)
		usage := schedule.Usage{Input: test.input, Output: test.output}
		slice.Days = []schedule.Day{{Date: f.now.Format(time.DateOnly), Sessions: 9, Usage: usage}}
		if got := f.state.Reserves[owners[0]].Bound(usage).Total(); got != test.want {
			t.Errorf("%s: the report counts %d tokens, want %d", name, got, test.want)
		}
		if _, err := f.state.Settle(owners[0], slice, f.policy, f.now); err != nil {
			t.Fatal(err)
		}
		if day := f.state.SpentToday(f.now); day.Usage.Total() != test.want || day.Sessions != 1 {
			t.Errorf("%s: the day has %+v, want one session with %d tokens", name, day, test.want)
		}
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
	c.Course.Sessions = 0
	want.Claims["2"] = c
	want.Conversations = map[tracker.ID]schedule.Conversation{"2": f.state.Conversations["2"]}
	want.Reserves = map[schedule.Owner]schedule.Reserve{owners[1]: {Since: f.now, IDs: []tracker.ID{"2"}}}
	want.Salt = "salt"
	if diff := cmp.Diff(want, f.state.Slice(owners[1], f.now)); diff != "" {
		t.Error(diff)
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
