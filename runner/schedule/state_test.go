package schedule_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestANewTickForgetsWhatTheLastOneUsed(t *testing.T) {
	t.Parallel()
	w := simple()
	w.claim(todo(1), schedule.Running, nil)
	w.state.Exit("1", schedule.Outcome{Class: schedule.Systemic, Why: "unauthorized", Usage: schedule.Usage{Input: 5}}, w.policy, w.now)
	days, pause, claim := w.state.Days, w.state.Pause, w.state.Claims["1"]
	w.state.NewTick()

	if diff := cmp.Diff(schedule.Spent{}, w.state.Tick); diff != "" {
		t.Errorf("the tick (-want +got):\n%s", diff)
	}
	want := &schedule.State{Claims: map[tracker.ID]schedule.Claim{"1": claim}, Days: days, Pause: pause, Self: me}
	if diff := cmp.Diff(want, w.state); diff != "" {
		t.Errorf("the rest (-want +got):\n%s", diff)
	}
}

func TestALeaseIsRenewedWhenHalfOfItIsGone(t *testing.T) {
	t.Parallel()
	w := simple()
	w.claim(todo(1), schedule.Running, nil)
	w.claim(todo(2), schedule.Stopping, nil)
	w.claim(todo(3), schedule.Running, func(c *schedule.Claim) { c.Owner = other })
	w.claim(todo(4), schedule.Waiting, nil)
	leases := func() map[tracker.ID]time.Duration {
		left := map[tracker.ID]time.Duration{}
		for id, c := range w.state.Claims {
			if !c.Lease.IsZero() {
				left[id] = c.Lease.Sub(w.now)
			}
		}
		return left
	}

	w.now = noon.Add(5 * time.Minute)
	if w.state.Renew(w.now) {
		t.Error("renewed when half of it was left")
	}
	w.now = w.now.Add(time.Second)
	if !w.state.Renew(w.now) {
		t.Error("not renewed")
	}
	want := map[tracker.ID]time.Duration{"1": 10 * time.Minute, "2": 10 * time.Minute, "3": 5*time.Minute - time.Second}
	if diff := cmp.Diff(want, leases()); diff != "" {
		t.Errorf("leases (-want +got):\n%s", diff)
	}
	if w.state.Renew(w.now) {
		t.Error("renewed twice")
	}
}

func TestOrphansAreTheOwnersOfWhatRuns(t *testing.T) {
	t.Parallel()
	w := simple()
	for n, owner := range []schedule.Owner{local, me, other, other, {Run: "98"}, {Run: "97"}, {Run: "96"}} {
		w.claim(todo(n), schedule.Running, func(c *schedule.Claim) { c.Owner = owner })
	}
	w.claim(todo(9), schedule.Parked, nil)
	want := []schedule.Owner{local, other, {Run: "98"}, {Run: "97"}, {Run: "96"}}
	if diff := cmp.Diff(want, w.state.Orphans()); diff != "" {
		t.Errorf("each once, in the order of their claims (-want +got):\n%s", diff)
	}
}

func TestClaimsAreAdoptedInOrder(t *testing.T) {
	t.Parallel()
	w := simple()
	var want []tracker.ID
	for n := range 10 {
		w.claim(todo(n), schedule.Running, func(c *schedule.Claim) { c.Owner = other })
		want = append(want, todo(n).ID)
	}
	var got []tracker.ID
	for _, c := range w.state.Adopt(all(w.state, schedule.Dead), w.policy, w.now) {
		got = append(got, c.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheLatestFourteenDaysAreKept(t *testing.T) {
	t.Parallel()
	w := simple()
	w.claim(todo(1), schedule.Running, nil)
	for day := range 20 {
		w.now = noon.AddDate(0, 0, day)
		w.state.Heartbeat("1", schedule.Update{Usage: schedule.Usage{Input: int64(day+1) * 10}}, w.now)
	}
	if days := w.state.Days; len(days) != 14 || days[0].Date != "2026-03-16" || days[13].Date != "2026-03-29" {
		t.Errorf("kept %+v", days)
	}
	want := schedule.Day{Date: "2026-03-29", Usage: schedule.Usage{Input: 10}}
	if diff := cmp.Diff(want, w.state.SpentToday(w.now)); diff != "" {
		t.Errorf("today (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(schedule.Day{Date: "2026-03-10"}, w.state.SpentToday(noon)); diff != "" {
		t.Errorf("a day that is forgotten (-want +got):\n%s", diff)
	}
}

func TestADayIsADayOfUTC(t *testing.T) {
	t.Parallel()
	w := simple()
	w.claim(todo(1), schedule.Running, nil)
	east := time.FixedZone("east", 14*60*60) // there it is the 11th already
	w.state.Heartbeat("1", schedule.Update{Usage: schedule.Usage{Input: 10}}, noon.In(east))
	want := []schedule.Day{{Date: "2026-03-10", Usage: schedule.Usage{Input: 10}}}
	if diff := cmp.Diff(want, w.state.Days); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.policy.Stall, w.policy.Budget.TokensPerDay = 0, 10
	if at, ok := w.state.Wake(w.policy, noon.In(east)); !ok || !at.Equal(noon.Add(12*time.Hour)) {
		t.Errorf("the budget is new at %v, %v", at, ok)
	}
}

func TestACloneSharesNothingThatChanges(t *testing.T) {
	t.Parallel()
	w := simple()
	w.claim(todo(1), schedule.Running, nil)
	w.state.Heartbeat("1", schedule.Update{Usage: schedule.Usage{Input: 5}, RateLimits: json.RawMessage(`{"left":1}`)}, w.now)
	before := w.dump(t)
	clone := w.state.Clone()
	clone.Heartbeat("1", schedule.Update{Usage: schedule.Usage{Input: 9}, RateLimits: json.RawMessage(`{"left":0}`)}, w.now)
	clone.Exit("1", schedule.Outcome{Class: schedule.Done}, w.policy, w.now)
	if diff := cmp.Diff(before, w.dump(t)); diff != "" {
		t.Errorf("the original changed (-before +after):\n%s", diff)
	}
}

func TestWakeIsTheNextTimeThatMatters(t *testing.T) {
	t.Parallel()
	in := func(d time.Duration) time.Time { return noon.Add(d) }
	tests := []struct {
		name string
		with func(fixture) fixture
		want time.Duration // from noon; 0 for never
	}{
		{"nothing is claimed", func(w fixture) fixture { return w }, 0},
		{"a wait that is over already", func(w fixture) fixture {
			w.claim(todo(1), schedule.Waiting, nil)
			return w
		}, 0},
		{"the first of two waits", func(w fixture) fixture {
			w.claim(todo(1), schedule.Waiting, func(c *schedule.Claim) { c.Due = in(time.Hour) })
			w.claim(todo(2), schedule.Waiting, func(c *schedule.Claim) { c.Due = in(time.Minute) })
			return w
		}, time.Minute},
		{"a session falls silent", func(w fixture) fixture {
			w.claim(todo(1), schedule.Running, func(c *schedule.Claim) { c.TurnSince, c.Heard = in(-2*time.Minute), in(-time.Minute) })
			return w
		}, 4*time.Minute + 1},
		{"a session that was not heard of since its turn began", func(w fixture) fixture {
			w.claim(todo(1), schedule.Running, func(c *schedule.Claim) { c.Since, c.TurnSince = in(-time.Hour), noon })
			return w
		}, 5*time.Minute + 1},
		{"a session between two turns", func(w fixture) fixture {
			w.claim(todo(1), schedule.Running, func(c *schedule.Claim) { c.Since, c.Heard = in(-time.Hour), in(-time.Hour) })
			return w
		}, 0},
		{"no stall detection", func(w fixture) fixture {
			w.claim(todo(1), schedule.Running, func(c *schedule.Claim) { c.TurnSince = noon })
			w.policy.Stall = 0
			return w
		}, 0},
		{"a session of another run, and one that ends", func(w fixture) fixture {
			w.claim(todo(1), schedule.Running, func(c *schedule.Claim) { c.Owner, c.TurnSince = other, noon })
			w.claim(todo(2), schedule.Stopping, nil)
			return w
		}, 0},
		{"a pause", func(w fixture) fixture {
			w.state.Pause = schedule.Pause{Why: "unauthorized", Until: in(time.Minute)}
			return w
		}, time.Minute},
		{"the budget of the day is spent", func(w fixture) fixture {
			w.policy.Budget.TokensPerDay = 10
			w.state.Days = []schedule.Day{{Date: "2026-03-10", Usage: schedule.Usage{Output: 10}}}
			return w
		}, 12 * time.Hour},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := test.with(simple())
			at, ok := w.state.Wake(w.policy, w.now)
			if want := in(test.want); ok != (test.want != 0) || ok && !at.Equal(want) {
				t.Errorf("Wake = %v, %v; want %v", at, ok, want)
			}
		})
	}
}
