package schedule_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// year2999 is a time that no run writes.
var year2999 = time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)

func TestTimesThatNoRunCanHaveWrittenAreReplaced(t *testing.T) {
	t.Parallel()
	w := simple()
	w.claim(todo(1), schedule.Waiting, func(c *schedule.Claim) { c.Due, c.Since = year2999, year2999 })
	w.claim(todo(2), schedule.Running, func(c *schedule.Claim) { c.Owner, c.Lease, c.Heard = other, year2999, year2999 })
	w.claim(todo(3), schedule.Parked, nil)
	w.state.Pause = schedule.Pause{Why: "usageLimitExceeded", Since: year2999, Until: year2999}
	today := schedule.Day{Date: "2026-03-10", Sessions: 1}
	w.state.Wait = schedule.TrackerWait{Tracker: "github", Until: year2999}
	w.state.Days = []schedule.Day{today, {Date: "2026-03-12", Usage: schedule.Usage{Input: schedule.MaxTokens}}, {Date: "2999-01-01"}}

	want := w.state.Clone()
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

	said := w.state.BoundTimes(w.policy, noon)
	if diff := cmp.Diff(want, w.state); diff != "" {
		t.Errorf("the state (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"ABC-1 is due 2999-01-01T00:00:00Z", "ABC-1 is waiting since 2999-01-01T00:00:00Z",
		"ABC-2 has a lease until 2999-01-01T00:00:00Z", "ABC-2 was heard of 2999-01-01T00:00:00Z",
		"the pause lasts until 2999-01-01T00:00:00Z", "the tracker is left alone until 2999-01-01T00:00:00Z", "the pause began 2999-01-01T00:00:00Z",
		"spending of 2026-03-12", "spending of 2999-01-01",
	}, said); diff != "" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
	if again := w.state.BoundTimes(w.policy, noon); len(again) > 0 {
		t.Errorf("said again: %q", again)
	}
}

func TestTimesThatARunCanHaveWrittenAreKept(t *testing.T) {
	t.Parallel()
	skew := 5 * time.Minute // the clock of the other run is ahead
	w := simple()
	w.policy.MaxBackoff = 30 * 24 * time.Hour
	w.claim(todo(1), schedule.Waiting, func(c *schedule.Claim) { c.Due = noon.Add(30*24*time.Hour + skew) })
	w.claim(todo(2), schedule.Running, func(c *schedule.Claim) {
		c.Owner, c.Since, c.Heard, c.Lease = other, noon.Add(skew), noon.Add(skew), noon.Add(10*time.Minute+skew)
	})
	w.state.Pause = schedule.Pause{Why: "usageLimitExceeded", Since: noon, Until: noon.Add(7 * 24 * time.Hour)}
	w.state.Wait = schedule.TrackerWait{Tracker: "github", Until: noon.Add(time.Hour + skew)}
	w.state.Days = []schedule.Day{{Date: "2026-03-09"}, {Date: "2026-03-10"}}
	want := w.state.Clone()
	if said := w.state.BoundTimes(w.policy, noon); len(said) > 0 {
		t.Errorf("said %q", said)
	}
	if diff := cmp.Diff(want, w.state); diff != "" {
		t.Error(diff)
	}
	w.state.Days = []schedule.Day{{Date: "2026-03-11"}} // it is past midnight there
	if said := w.state.BoundTimes(w.policy, time.Date(2026, 3, 10, 23, 55, 0, 0, time.UTC)); len(said) > 0 {
		t.Errorf("said %q", said)
	}
}

func TestABackoffWithoutEndReplacesNoTime(t *testing.T) {
	t.Parallel()
	w := simple()
	w.policy.MaxBackoff = math.MaxInt64
	w.claim(todo(1), schedule.Waiting, func(c *schedule.Claim) { c.Due = noon.Add(time.Hour) })
	if said := w.state.BoundTimes(w.policy, noon); len(said) > 0 {
		t.Errorf("said %q", said)
	}
}

func TestAServerCannotImposeALongerWaitThanItsLongestLimit(t *testing.T) {
	t.Parallel()
	for _, class := range []schedule.Class{schedule.Systemic, schedule.Transient, schedule.IssueFailed} {
		w := running(todo(1))
		next := w.state.Exit("1", schedule.Outcome{Class: class, Why: "told", RetryAt: year2999}, w.policy, noon)
		latest := noon.Add(8 * 24 * time.Hour)
		if next.Due.After(latest) || w.state.Pause.Until.After(latest) {
			t.Errorf("%s: due %v, paused until %v", class, next.Due, w.state.Pause.Until)
		}
		if said := w.state.BoundTimes(w.policy, noon); len(said) > 0 {
			t.Errorf("%s: what was written is not kept: %q", class, said)
		}
	}
}

func TestSumsOfTokensStayWithinTheirLimit(t *testing.T) {
	t.Parallel()
	w := running(todo(1), todo(2))
	most := schedule.Usage{Input: math.MaxInt64, Output: math.MaxInt64}
	w.state.Heartbeat("1", schedule.Update{Usage: most}, noon)
	w.state.Exit("1", schedule.Outcome{Class: schedule.IssueFailed, Usage: most}, w.policy, noon)
	w.state.Exit("2", schedule.Outcome{Class: schedule.IssueFailed, Usage: most}, w.policy, noon)
	full := schedule.Usage{Input: schedule.MaxTokens, Output: schedule.MaxTokens}
	if got := w.state.SpentToday(noon).Usage; got != full {
		t.Errorf("the day has %+v", got)
	}
	if got := w.state.Tick.Usage; got != full {
		t.Errorf("the tick has %+v", got)
	}
	if got := w.state.Claims["1"].Tokens; got != schedule.MaxTokens {
		t.Errorf("the claim has %d", got)
	}
}
