package schedule_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestANewTickResetsWhatTheLastOneSpent(t *testing.T) {
	t.Parallel()
	f := simple()
	f.claim(todo(1), schedule.Running, nil)
	f.state.Exit("1", schedule.Outcome{Class: schedule.Systemic, Why: "unauthorized", Usage: schedule.Usage{Input: 5}}, f.policy, f.now)
	f.state.Finishing = map[tracker.ID]bool{"2": true}
	days, pause, claim, talks := f.state.Days, f.state.Pause, f.state.Claims["1"], f.state.Conversations
	f.state.NewTick()

	if diff := cmp.Diff(schedule.Spent{}, f.state.Tick); diff != "" {
		t.Errorf("the tick (-want +got):\n%s", diff)
	}
	want := &schedule.State{
		Issues: schedule.Issues{Claims: map[tracker.ID]schedule.Claim{"1": claim}, Conversations: talks}, Spending: schedule.Spending{Self: me, Days: days}, Pause: pause,
	}
	if diff := cmp.Diff(want, f.state); diff != "" {
		t.Errorf("the rest (-want +got):\n%s", diff)
	}
}

func TestALeaseIsRenewedWhenHalfOfItIsGone(t *testing.T) {
	t.Parallel()
	f := simple()
	f.claim(todo(1), schedule.Running, nil)
	f.claim(todo(2), schedule.Stopping, nil)
	f.claim(todo(3), schedule.Running, func(c *schedule.Claim) { c.Owner = other })
	f.claim(todo(4), schedule.Waiting, nil)
	leases := func() map[tracker.ID]time.Duration {
		left := map[tracker.ID]time.Duration{}
		for id, c := range f.state.Claims {
			if !c.Lease.IsZero() {
				left[id] = c.Lease.Sub(f.now)
			}
		}
		return left
	}

	f.now = noon.Add(5 * time.Minute)
	if f.state.Renew(f.policy, f.now) {
		t.Error("renewed when half of it was left")
	}
	f.now = f.now.Add(time.Second)
	if !f.state.Renew(f.policy, f.now) {
		t.Error("not renewed")
	}
	want := map[tracker.ID]time.Duration{"1": 10 * time.Minute, "2": 10 * time.Minute, "3": 5*time.Minute - time.Second}
	if diff := cmp.Diff(want, leases()); diff != "" {
		t.Errorf("leases (-want +got):\n%s", diff)
	}
	if f.state.Renew(f.policy, f.now) {
		t.Error("renewed twice")
	}
}

// TestSpendingIsSavedEachMinuteWhereABudgetLimitsIt renews leases for that, in one save for all.
func TestSpendingIsSavedEachMinuteWhereABudgetLimitsIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		budget schedule.Budget
		shard  int
		want   int
	}{
		"no budget":    {},
		"of issues":    {budget: schedule.Budget{TokensPerIssue: 1}, want: 2},
		"of days":      {budget: schedule.Budget{TokensPerDay: 1}, want: 2},
		"of a shard":   {budget: schedule.Budget{TokensPerDay: 1}, shard: 1},
		"for attempts": {budget: schedule.Budget{Attempts: 1}},
	} {
		f := simple()
		f.policy.Budget, f.state.Self.Shard = test.budget, test.shard
		for n, since := range []time.Duration{-time.Minute - time.Second, -30 * time.Second} {
			f.claim(todo(n), schedule.Running, func(c *schedule.Claim) {
				c.Owner, c.Lease = f.state.Self, noon.Add(10*time.Minute+since)
			})
		}
		renewed := 0
		f.state.Renew(f.policy, noon)
		for _, c := range f.state.Claims {
			if c.Lease.Equal(noon.Add(10 * time.Minute)) {
				renewed++
			}
		}
		if renewed != test.want {
			t.Errorf("%s: %d leases are renewed, want %d", name, renewed, test.want)
		}
	}
}

func TestOrphansAreTheOtherOwnersOfRunningClaims(t *testing.T) {
	t.Parallel()
	f := simple()
	for n, owner := range []schedule.Owner{local, me, other, other, {Run: "98"}, {Run: "97"}, {Run: "96"}} {
		f.claim(todo(n), schedule.Running, func(c *schedule.Claim) { c.Owner = owner })
	}
	f.claim(todo(9), schedule.Parked, nil)
	want := []schedule.Owner{local, other, {Run: "98"}, {Run: "97"}, {Run: "96"}}
	if diff := cmp.Diff(want, f.state.Orphans()); diff != "" {
		t.Errorf("each once, in the order of their claims (-want +got):\n%s", diff)
	}
}

func TestClaimsAreAdoptedInOrder(t *testing.T) {
	t.Parallel()
	f := simple()
	var want []tracker.ID
	for n := range 10 {
		f.claim(todo(n), schedule.Running, func(c *schedule.Claim) { c.Owner = other })
		want = append(want, todo(n).ID)
	}
	var got []tracker.ID
	for _, c := range f.state.Adopt(all(f.state, schedule.Dead), f.policy, f.now) {
		got = append(got, c.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestACloneSharesNothingThatChanges(t *testing.T) {
	t.Parallel()
	f := simple()
	f.claim(todo(1), schedule.Running, nil)
	f.state.Heartbeat("1", schedule.Update{Usage: schedule.Usage{Input: 5}, RateLimits: json.RawMessage(`{"left":1}`)}, f.now)
	f.state.Deliver("1", schedule.Delivery{Identifier: "ABC-1", Number: 1})
	f.state.StartConversations(f.now)
	f.state.Finishing = map[tracker.ID]bool{"7": true}
	before := f.dump(t)
	clone := f.state.Clone()
	clone.Apply(schedule.Decision{Action: schedule.Finish, ID: "8"}, f.now)
	converse(clone, "1", func(talk *schedule.Conversation) { talk.Rounds = 3 })
	clone.Heartbeat("1", schedule.Update{Usage: schedule.Usage{Input: 9}, RateLimits: json.RawMessage(`{"left":0}`)}, f.now)
	clone.Exit("1", schedule.Outcome{Class: schedule.Done}, f.policy, f.now)
	clone.Deliver("1", schedule.Delivery{Identifier: "ABC-1", Number: 2})
	clone.Deliver("2", schedule.Delivery{Identifier: "ABC-2", Number: 3})
	if diff := cmp.Diff(before, f.dump(t)); diff != "" {
		t.Errorf("the original changed (-before +after):\n%s", diff)
	}
}

// year2999 is later than any time that a run writes.
var year2999 = time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)

func TestTimesThatNoRunCanHaveWrittenAreReplaced(t *testing.T) {
	t.Parallel()
	f := simple()
	f.claim(todo(1), schedule.Waiting, func(c *schedule.Claim) { c.Due, c.Since = year2999, year2999 })
	f.claim(todo(2), schedule.Running, func(c *schedule.Claim) { c.Owner, c.Lease, c.Heard = other, year2999, year2999 })
	f.claim(todo(3), schedule.Parked, nil)
	f.state.Pause = schedule.Pause{Why: "usageLimitExceeded", Since: year2999, Until: year2999}
	today := schedule.Day{Date: "2026-03-10", Sessions: 1}
	f.state.Wait = schedule.TrackerWait{Tracker: "github", Until: year2999}
	f.state.Days = []schedule.Day{today, {Date: "2026-03-12", Usage: schedule.Usage{Input: schedule.MaxTokens}}, {Date: "2999-01-01"}}

	f.state.Deliver("8", schedule.Delivery{Identifier: "ABC-8", Number: 8, At: noon})
	f.state.Deliver("9", schedule.Delivery{Identifier: "ABC-9", Number: 9, At: year2999})
	heard := schedule.Mark{At: noon, IDs: []string{"a"}}
	f.state.Conversations = map[tracker.ID]schedule.Conversation{"8": {
		ReadUpTo: heard, PromptedUpTo: schedule.Mark{At: year2999}, ParkedUpTo: schedule.Mark{At: year2999}, CommandsUpTo: schedule.Mark{At: year2999, IDs: []string{"a"}},
	}}

	want := f.state.Clone()
	want.Conversations["8"] = schedule.Conversation{ReadUpTo: heard, PromptedUpTo: schedule.Mark{At: noon}, ParkedUpTo: schedule.Mark{At: noon}, CommandsUpTo: heard}
	want.Deliver("9", schedule.Delivery{Identifier: "ABC-9", Number: 9, At: noon})
	change := func(id tracker.ID, with func(*schedule.Claim)) {
		c := want.Claims[id]
		with(&c)
		want.Claims[id] = c
	}
	change("1", func(c *schedule.Claim) { c.Due, c.Since = noon.Add(5*time.Minute), noon })
	change("2", func(c *schedule.Claim) { c.Lease, c.Heard = noon.Add(10*time.Minute), noon })
	want.Pause.Since, want.Pause.Until = noon, noon.Add(5*time.Minute)
	want.Wait.Until = noon
	want.Days = []schedule.Day{today}

	replaced := f.state.BoundTimes(f.policy, noon)
	if diff := cmp.Diff(want, f.state); diff != "" {
		t.Errorf("the state (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"ABC-1 is due 2999-01-01T00:00:00Z", "ABC-1 is waiting since 2999-01-01T00:00:00Z",
		"ABC-2 has a lease until 2999-01-01T00:00:00Z", "ABC-2 was heard of 2999-01-01T00:00:00Z", "ABC-9 was published 2999-01-01T00:00:00Z",
		"the conversation on ABC-8 was read 2999-01-01T00:00:00Z", "the conversation on ABC-8 was read 2999-01-01T00:00:00Z", "the conversation on ABC-8 was read 2999-01-01T00:00:00Z",
		"the pause lasts until 2999-01-01T00:00:00Z", "the tracker is left alone until 2999-01-01T00:00:00Z", "the pause began 2999-01-01T00:00:00Z",
		"spending of 2026-03-12", "spending of 2999-01-01",
	}, replaced); diff != "" {
		t.Errorf("replaced (-want +got):\n%s", diff)
	}
	if again := f.state.BoundTimes(f.policy, noon); len(again) > 0 {
		t.Errorf("replaced again: %q", again)
	}
}

func TestTimesThatARunCanHaveWrittenAreKept(t *testing.T) {
	t.Parallel()
	skew := 5 * time.Minute // the clock of the other run is ahead
	f := simple()
	f.policy.MaxBackoff = 30 * 24 * time.Hour
	f.claim(todo(1), schedule.Waiting, func(c *schedule.Claim) { c.Due = noon.Add(30*24*time.Hour + skew) })
	f.claim(todo(2), schedule.Running, func(c *schedule.Claim) {
		c.Owner, c.Since, c.Heard, c.Lease = other, noon.Add(skew), noon.Add(skew), noon.Add(10*time.Minute+skew)
	})
	f.state.Pause = schedule.Pause{Why: "usageLimitExceeded", Since: noon, Until: noon.Add(7 * 24 * time.Hour)}
	f.state.Wait = schedule.TrackerWait{Tracker: "github", Until: noon.Add(time.Hour + skew)}
	f.state.Days = []schedule.Day{{Date: "2026-03-09"}, {Date: "2026-03-10"}}
	want := f.state.Clone()
	if said := f.state.BoundTimes(f.policy, noon); len(said) > 0 {
		t.Errorf("said %q", said)
	}
	if diff := cmp.Diff(want, f.state); diff != "" {
		t.Error(diff)
	}
	f.state.Days = []schedule.Day{{Date: "2026-03-11"}} // it is past midnight there
	if said := f.state.BoundTimes(f.policy, time.Date(2026, 3, 10, 23, 55, 0, 0, time.UTC)); len(said) > 0 {
		t.Errorf("said %q", said)
	}
}

func TestAnUnlimitedBackoffReplacesNoTime(t *testing.T) {
	t.Parallel()
	f := simple()
	f.policy.MaxBackoff = math.MaxInt64
	f.claim(todo(1), schedule.Waiting, func(c *schedule.Claim) { c.Due = noon.Add(time.Hour) })
	if said := f.state.BoundTimes(f.policy, noon); len(said) > 0 {
		t.Errorf("said %q", said)
	}
}

func TestAServerCannotImposeALongerWaitThanItsLongestLimit(t *testing.T) {
	t.Parallel()
	for _, class := range []schedule.Class{schedule.Systemic, schedule.Transient, schedule.IssueFailed} {
		f := running(todo(1))
		next := f.state.Exit("1", schedule.Outcome{Class: class, Why: "told", RetryAt: year2999}, f.policy, noon)
		latest := noon.Add(8 * 24 * time.Hour)
		if next.Due.After(latest) || f.state.Pause.Until.After(latest) {
			t.Errorf("%s: due %v, paused until %v", class, next.Due, f.state.Pause.Until)
		}
		if said := f.state.BoundTimes(f.policy, noon); len(said) > 0 {
			t.Errorf("%s: replaced %q", class, said)
		}
	}
}
