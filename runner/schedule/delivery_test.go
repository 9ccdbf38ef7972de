package schedule_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// published is the delivery of ABC-1 after a push.
var published = schedule.Delivery{
	Identifier: "ABC-1", Branch: "symphony/ABC-1", Base: "main", Head: strings.Repeat("a", 40),
	Number: 17, URL: "https://github.com/octo/shop/pull/17", At: noon,
}

func TestTheEndOfASessionStoresWhatBecameOfItsWork(t *testing.T) {
	t.Parallel()
	refused := published
	refused.Refused = "too large"
	none := schedule.Delivery{}
	incomplete := published
	incomplete.LeftOut = "big.bin"
	blocked := refused
	blocked.Blocked = "`a.example`"
	for name, test := range map[string]struct {
		before  schedule.Delivery
		outcome schedule.Outcome
		want    schedule.Delivery
	}{
		"hosts blocked, the first time": {none, schedule.Outcome{Class: schedule.Done, Blocked: "`a.example`"}, schedule.Delivery{Identifier: "ABC-1", Blocked: "`a.example`"}},
		"hosts blocked after a refusal": {refused, schedule.Outcome{Class: schedule.Done, Blocked: "`a.example`"}, blocked},
		"nothing after blocked hosts":   {blocked, schedule.Outcome{Class: schedule.Done}, blocked},
		"refused after blocked hosts":   {blocked, schedule.Outcome{Class: schedule.IssueFailed, Refused: "too large"}, refused},
		"delivered after blocked hosts": {blocked, schedule.Outcome{Class: schedule.Done, Delivered: true}, published},
		"refused, the first time":       {none, schedule.Outcome{Class: schedule.IssueFailed, Refused: "too large"}, schedule.Delivery{Identifier: "ABC-1", Refused: "too large"}},
		"refused after a delivery":      {published, schedule.Outcome{Class: schedule.IssueFailed, Refused: "too large"}, refused},
		"refused for another reason":    {refused, schedule.Outcome{Class: schedule.IssueFailed, Refused: "a key"}, func() schedule.Delivery { d := refused; d.Refused = "a key"; return d }()},
		"delivered":                     {published, schedule.Outcome{Class: schedule.Done, Delivered: true}, published},
		"delivered after a refusal":     {refused, schedule.Outcome{Class: schedule.Done, Delivered: true}, published},
		"delivered by a stopped one":    {refused, schedule.Outcome{Class: schedule.Stopped, Delivered: true}, published},
		"delivered with a gap":          {published, schedule.Outcome{Class: schedule.Done, Delivered: true, LeftOut: "big.bin"}, incomplete},
		"delivered without the gap":     {incomplete, schedule.Outcome{Class: schedule.Done, Delivered: true}, published},
		"nothing after a gap":           {incomplete, schedule.Outcome{Class: schedule.Done}, incomplete},
		"nothing but a gap":             {none, schedule.Outcome{Class: schedule.Done, LeftOut: "big.bin"}, schedule.Delivery{Identifier: "ABC-1", LeftOut: "big.bin"}},
		"nothing, the first time":       {none, schedule.Outcome{Class: schedule.Done}, none},
		"nothing after a delivery":      {published, schedule.Outcome{Class: schedule.Done}, published},
		"nothing after a refusal":       {refused, schedule.Outcome{Class: schedule.Done}, refused},
		"failed after a refusal":        {refused, schedule.Outcome{Class: schedule.IssueFailed}, refused},
		"refused, and the issue gone":   {none, schedule.Outcome{Class: schedule.IssueFailed, Refused: "too large", Gone: true}, schedule.Delivery{Identifier: "ABC-1", Refused: "too large"}},
		"delivered, and nothing known":  {none, schedule.Outcome{Class: schedule.Done, Delivered: true}, none},
	} {
		f := running(todo(1))
		f.state.Deliver("1", test.before)
		f.state.Exit("1", test.outcome, f.policy, noon)
		if diff := cmp.Diff(test.want, f.state.Deliveries["1"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheEndOfAnotherRunsSessionLeavesItsDelivery(t *testing.T) {
	t.Parallel()
	f := simple()
	f.claim(todo(1), schedule.Running, func(c *schedule.Claim) { c.Owner = other })
	f.state.Deliver("1", published)
	f.state.Exit("1", schedule.Outcome{Class: schedule.IssueFailed, Refused: "too large"}, f.policy, noon)
	if diff := cmp.Diff(published, f.state.Deliveries["1"]); diff != "" {
		t.Error(diff)
	}
}

func TestADeliveryOutlivesItsClaim(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(f fixture){
		"handed over": func(f fixture) {
			f.state.Exit("1", schedule.Outcome{Class: schedule.Done, Delivered: true, Gone: true}, f.policy, noon)
		},
		"released by an operator": func(f fixture) {
			f.state.Exit("1", schedule.Outcome{Class: schedule.NeedsInput, Why: "which colour?"}, f.policy, noon)
			f.state.Release("1")
		},
		"released by a plan": func(f fixture) {
			f.state.Exit("1", schedule.Outcome{Class: schedule.Done, Delivered: true}, f.policy, noon)
			f.state.Apply(schedule.Decision{Action: schedule.Release, ID: "1", Clean: true}, noon)
		},
	} {
		f := running(todo(1))
		f.state.Deliver("1", published)
		end(f)
		if _, claimed := f.state.Claims["1"]; claimed || f.state.Deliveries["1"] != published {
			t.Errorf("%s: claimed %v, delivery %+v", name, claimed, f.state.Deliveries["1"])
		}
	}
}

func TestARefusedDeliveryIsRetriedAndThenParkedWithItsReason(t *testing.T) {
	t.Parallel()
	f := running(todo(1))
	f.policy.Delivers, f.policy.Budget.Attempts = true, 3
	issue := todo(1)
	o := schedule.Outcome{Class: schedule.IssueFailed, Why: "deliver the work: refused: .github/x is protected", Refused: ".github/x is protected", Turns: 1, Issue: &issue}
	for n := 1; ; n++ {
		next := f.state.Exit("1", o, f.policy, f.now)
		if len(f.state.Completed) > 0 {
			t.Errorf("completed: %v", f.state.Completed)
		}
		if got := f.state.Deliveries["1"].Refused; got != o.Refused {
			t.Errorf("the next session is told %q", got)
		}
		want := schedule.Waiting
		if n == 3 {
			want = schedule.Parked
		}
		if next.Phase != want || !strings.HasSuffix(next.Why.Detail, o.Why) {
			t.Fatalf("after %d refusals: %+v", n, next)
		}
		if n == 3 {
			break
		}
		f.now = next.Due
		f.state.Apply(schedule.Decision{Action: schedule.Dispatch, ID: "1", Issue: issue}, f.now)
	}
}

func TestADeliveryCompletesAnIssueOrWithoutOneTheEndOfItsActiveStates(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		delivers, delivered, active bool
		want                        int
	}{{false, false, true, 0}, {false, false, false, 1}, {true, false, false, 0}, {true, true, true, 1}} {
		f := running(todo(1))
		f.policy.Delivers = test.delivers
		f.state.Exit("1", schedule.Outcome{Class: schedule.Done, Delivered: test.delivered, Gone: !test.active, Turns: 1}, f.policy, noon)
		if got := len(f.state.Completed); got != test.want {
			t.Errorf("%+v: %d issues are completed", test, got)
		}
	}
}

func TestSessionsThatDeliverNothingParkTheirIssue(t *testing.T) {
	t.Parallel()
	f := running(todo(1))
	f.policy.Delivers, f.policy.Budget.IdleSessions = true, 2
	for n, o := range []schedule.Outcome{
		{Idle: true},                  // nothing
		{Delivered: true},             // begins to count again
		{Idle: true, Delivered: true}, // it was published before
		{Idle: true},
	} {
		o.Class, o.Turns = schedule.Done, 1
		next := f.state.Exit("1", o, f.policy, f.now)
		if n < 3 {
			if next.Phase != schedule.Waiting {
				t.Fatalf("session %d: %+v", n+1, next)
			}
			f.now = next.Due
			f.state.Apply(schedule.Decision{Action: schedule.Dispatch, ID: "1", Issue: todo(1)}, f.now)
			continue
		}
		if next.Phase != schedule.Parked || next.Why.Detail != "2 sessions in a row delivered nothing new (budget.max_idle_sessions)" {
			t.Errorf("%+v", next)
		}
	}
}
