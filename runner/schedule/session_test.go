package schedule_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestAHeartbeatUpdatesTheClaim(t *testing.T) {
	t.Parallel()
	f := running(todo(1))
	beat := func(u schedule.Update, at time.Time) { f.state.Heartbeat("1", u, at) }
	beat(schedule.Update{Alive: true, Turns: 2, Thread: "t1", RateLimits: json.RawMessage(`{"left":1}`)}, noon.Add(time.Minute))
	beat(schedule.Update{Turns: 1}, noon.Add(2*time.Minute)) // says nothing new
	beat(schedule.Update{Alive: true}, noon)                 // late

	c := f.state.Claims["1"]
	if c.Turns != 2 || c.Thread != "t1" || !c.Heard.Equal(noon.Add(time.Minute)) {
		t.Errorf("the claim has %d turns, thread %q, heard at %v", c.Turns, c.Thread, c.Heard)
	}
	if got := string(f.state.RateLimits); got != `{"left":1}` {
		t.Errorf("the rate limits are %s", got)
	}
}

// running returns a fixture in which the issues are worked on by this run.
func running(issues ...tracker.Issue) fixture {
	f := simple()
	for _, issue := range issues {
		f.claim(issue, schedule.Running, nil)
	}
	return f
}

func TestTheTimeOfAStoppedSessionIsCountedFromItsStart(t *testing.T) {
	t.Parallel()
	f := running(todo(1))
	f.state.Apply(schedule.Decision{Action: schedule.Stop, ID: "1", Why: schedule.Why{Reason: schedule.Stalled, Detail: "silent"}}, noon.Add(time.Minute))
	f.state.Exit("1", schedule.Outcome{Class: schedule.Stopped}, f.policy, noon.Add(65*time.Second))
	if got := f.state.Tick.Time; got != 65*time.Second {
		t.Errorf("the tick has %v, want 1m5s", got)
	}
	if got := f.state.SpentToday(noon).Time; got != 65*time.Second {
		t.Errorf("the day has %v, want 1m5s", got)
	}
}

func TestTheTimeOfShortSessionsIsNotRoundedAway(t *testing.T) {
	t.Parallel()
	f := running(todo(1), todo(2), todo(3), todo(4), todo(5), todo(6))
	for id := range maps.Clone(f.state.Claims) {
		f.state.Exit(id, schedule.Outcome{Class: schedule.Done, Turns: 1}, f.policy, noon.Add(1800*time.Millisecond))
	}
	if got, want := f.state.SpentToday(noon).Time, 10800*time.Millisecond; got != want {
		t.Errorf("six sessions of 1.8 s took %v, want %v", got, want)
	}
}

func TestCompletedIssuesAreListedAndMayStartAgain(t *testing.T) {
	t.Parallel()
	f := running(todo(1), todo(2), todo(3), todo(4))
	gone := schedule.Outcome{Class: schedule.Done, Gone: true, Turns: 1}
	f.state.Exit("1", gone, f.policy, noon)
	f.state.Exit("2", schedule.Outcome{Class: schedule.IssueFailed, Why: "turn_failed"}, f.policy, noon)
	f.state.Exit("3", schedule.Outcome{Class: schedule.Done, Turns: 1}, f.policy, noon) // it is still active
	f.state.Exit("4", gone, f.policy, noon)
	before := f.state.Completed
	if diff := cmp.Diff([]tracker.ID{"1", "4"}, before); diff != "" {
		t.Error(diff)
	}

	// Issue 1 is back in the list: it starts as any other would.
	without := f.state.Clone()
	without.Completed = nil
	snap := schedule.Snapshot{Candidates: []tracker.Issue{todo(1)}}
	want := schedule.Plan(without, snap, f.policy, noon)
	if diff := cmp.Diff(want, schedule.Plan(f.state, snap, f.policy, noon)); diff != "" || len(want) != 1 || want[0].Action != schedule.Dispatch {
		t.Errorf("%+v\n%s", want, diff)
	}
	f.state.Apply(want[0], noon)
	f.state.Exit("1", gone, f.policy, noon)
	if diff := cmp.Diff([]tracker.ID{"4", "1"}, f.state.Completed); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]tracker.ID{"1", "4"}, before); diff != "" {
		t.Errorf("what a display shows has changed: %s", diff)
	}
}

func TestTheListOfCompletedIssuesIsBounded(t *testing.T) {
	t.Parallel()
	f := simple()
	for n := range 1100 {
		issue := todo(n)
		f.claim(issue, schedule.Running, nil)
		f.state.Exit(issue.ID, schedule.Outcome{Class: schedule.Done, Gone: true}, f.policy, noon)
	}
	if n := len(f.state.Completed); n != 1000 || f.state.Completed[n-1] != todo(1099).ID || f.state.Completed[0] != todo(100).ID {
		t.Errorf("%d issues, the last is %s", n, f.state.Completed[n-1])
	}
}

func TestAnIssueThatCameBackKeepsItsWorkspace(t *testing.T) {
	t.Parallel()
	f, issue := running(todo(1)), todo(1)
	f.state.Apply(schedule.Decision{Action: schedule.Stop, ID: "1", Why: schedule.Why{Reason: schedule.Terminal, Detail: "is done"}}, noon)
	next := f.state.Exit("1", schedule.Outcome{Class: schedule.Stopped, Issue: &issue}, f.policy, noon)
	if next.Phase != "" || next.Clean {
		t.Errorf("released with its workspace: %+v", next)
	}
}

func TestAThreadOutlivesOneFailureAndNotTwo(t *testing.T) {
	t.Parallel()
	f := simple()
	f.claim(todo(1), schedule.Running, func(c *schedule.Claim) { c.Thread = "t1" })
	for _, want := range []string{"t1", ""} {
		f.state.Exit("1", schedule.Outcome{Class: schedule.IssueFailed, Why: "turn_failed"}, f.policy, f.now)
		if got := f.state.Claims["1"].Thread; got != want {
			t.Errorf("after %d failures it resumes %q, want %q", f.state.Claims["1"].Failures, got, want)
		}
		f.state.Apply(schedule.Decision{Action: schedule.Dispatch, ID: "1", Issue: todo(1)}, f.now)
	}
}

func TestTheEndOfASessionUpdatesItsClaim(t *testing.T) {
	t.Parallel()
	type left struct {
		Phase                   schedule.Phase
		Attempt, Failures, Idle int
		Wait                    time.Duration // when waiting
		Thread                  string
	}
	hour := noon.Add(time.Hour)
	tests := []struct {
		name    string
		outcome schedule.Outcome
		want    left
	}{
		{"done", schedule.Outcome{Class: schedule.Done}, left{schedule.Waiting, 1, 0, 0, time.Second, "t1"}},
		{"done without a change", schedule.Outcome{Class: schedule.Done, Idle: true}, left{schedule.Waiting, 1, 0, 2, time.Second, "t1"}},
		{"interrupted", schedule.Outcome{Class: schedule.Stopped}, left{schedule.Waiting, 2, 1, 1, 0, "t1"}},
		{"failed", schedule.Outcome{Class: schedule.IssueFailed}, left{schedule.Waiting, 3, 2, 1, 40 * time.Second, ""}},
		{"failed, to be tried later", schedule.Outcome{Class: schedule.IssueFailed, RetryAt: hour}, left{schedule.Waiting, 3, 2, 1, time.Hour, ""}},
		{"failed, told a time before the backoff", schedule.Outcome{Class: schedule.IssueFailed, RetryAt: noon}, left{schedule.Waiting, 3, 2, 1, 40 * time.Second, ""}},
		{"transient", schedule.Outcome{Class: schedule.Transient}, left{schedule.Waiting, 3, 1, 1, 40 * time.Second, "t1"}},
		{"transient, to be tried later", schedule.Outcome{Class: schedule.Transient, RetryAt: hour}, left{schedule.Waiting, 3, 1, 1, time.Hour, "t1"}},
		{"thread lost", schedule.Outcome{Class: schedule.ThreadLost}, left{schedule.Waiting, 3, 2, 1, 40 * time.Second, ""}},
		{"thread lost, though it is named", schedule.Outcome{Class: schedule.ThreadLost, Thread: "t2"}, left{schedule.Waiting, 3, 2, 1, 40 * time.Second, ""}},
		{"systemic", schedule.Outcome{Class: schedule.Systemic}, left{schedule.Waiting, 2, 1, 1, 0, "t1"}},
		{"needs input", schedule.Outcome{Class: schedule.NeedsInput, Thread: "t2"}, left{schedule.Parked, 2, 1, 1, 0, "t2"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := simple()
			f.claim(todo(1), schedule.Running, func(c *schedule.Claim) {
				c.Attempt, c.Failures, c.Idle, c.Thread = 2, 1, 1, "t1"
			})
			test.outcome.Why = "as told"
			next := f.state.Exit("1", test.outcome, f.policy, f.now)
			c := f.state.Claims["1"]
			checkShape(t, c)
			got := left{c.Phase, c.Attempt, c.Failures, c.Idle, 0, c.Thread}
			if c.Phase == schedule.Waiting {
				got.Wait = c.Due.Sub(f.now)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if next.Phase != c.Phase || !next.Due.Equal(c.Due) || next.Clean {
				t.Errorf("Exit returned %+v but left %+v", next, c)
			}
		})
	}
}

func TestAnAttemptWithoutATurnIsNotARetry(t *testing.T) {
	t.Parallel()
	for turns, want := range []int{0, 1, 1} {
		f := running(todo(1))
		f.state.Exit("1", schedule.Outcome{Class: schedule.Systemic, Why: "unauthorized", Turns: turns}, f.policy, f.now)
		if got := f.state.Claims["1"].Attempt; got != want {
			t.Errorf("after %d turns the next attempt is %d, want %d", turns, got, want)
		}
	}
}

func TestAQuestionDuringAStopParksAClaimThatIsKept(t *testing.T) {
	t.Parallel()
	for cause, want := range map[schedule.Reason]schedule.Phase{
		schedule.Interrupted: schedule.Parked, schedule.DeadlineReached: schedule.Parked, schedule.DayBudget: schedule.Parked,
		schedule.Stalled: schedule.Parked, schedule.NotActive: "", schedule.Terminal: "", schedule.NotDispatchable: "",
	} {
		f := running(todo(1))
		f.state.Apply(schedule.Decision{Action: schedule.Stop, ID: "1", Why: schedule.Why{Reason: cause, Detail: "as told"}}, noon)
		next := f.state.Exit("1", schedule.Outcome{Class: schedule.NeedsInput, Why: "which colour?", Turns: 1}, f.policy, f.now)
		if next.Phase != want || want != "" && next.Why.Detail != "which colour?" {
			t.Errorf("%s: %+v, want phase %q", cause, next, want)
		}
	}
}

func TestAStopStoresTheStateThatCausedIt(t *testing.T) {
	t.Parallel()
	for state, cause := range map[string]schedule.Reason{"Review": schedule.NotActive, "Done": schedule.Terminal} {
		f := running(todo(1))
		moved := todo(1)
		moved.State = state
		f.snap.Claimed["1"] = &moved
		decisions := f.plan()
		if len(decisions) != 1 || decisions[0].Why.Reason != cause {
			t.Fatalf("%s: %+v", state, decisions)
		}
		if c := f.then(decisions).state.Claims["1"]; c.State != state || c.Phase != schedule.Stopping {
			t.Errorf("the claim is %+v", c)
		}
	}
}

func TestTheReasonOfAStopDecidesThePhaseOfTheClaim(t *testing.T) {
	t.Parallel()
	const released = schedule.Phase("")
	tests := []struct {
		cause    schedule.Reason
		phase    schedule.Phase
		due      time.Time
		failures int
		clean    bool
	}{
		{schedule.Terminal, released, time.Time{}, 0, true},
		{schedule.NotActive, released, time.Time{}, 0, false},
		{schedule.NotRoutable, released, time.Time{}, 0, false},
		{schedule.NotDispatchable, released, time.Time{}, 0, false},
		{schedule.NotVisible, released, time.Time{}, 0, false},
		{schedule.ClaimLost, released, time.Time{}, 0, false},
		{schedule.Stalled, schedule.Waiting, noon.Add(10 * time.Second), 1, false},
		{schedule.IssueBudget, schedule.Parked, time.Time{}, 0, false},
		{schedule.TickBudget, schedule.Waiting, noon, 0, false},
		{schedule.DayBudget, schedule.Waiting, noon, 0, false},
		{schedule.Interrupted, schedule.Waiting, noon, 0, false},
		{schedule.DeadlineReached, schedule.Waiting, noon, 0, false},
	}
	for _, test := range tests {
		t.Run(string(test.cause), func(t *testing.T) {
			stop := func() fixture {
				f := running(todo(1))
				f.state.Apply(schedule.Decision{Action: schedule.Stop, ID: "1", Why: schedule.Why{Reason: test.cause, Detail: "as told"}}, noon)
				return f
			}
			f := stop()
			next := f.state.Exit("1", schedule.Outcome{Class: schedule.Stopped, Turns: 1}, f.policy, noon)
			if next.Phase != test.phase || !next.Due.Equal(test.due) || next.Clean != test.clean || next.Why.String() != "as told" {
				t.Errorf("got %+v", next)
			}
			if c, claimed := f.state.Claims["1"]; claimed && (c.Failures != test.failures || c.Phase == schedule.Waiting && c.Attempt != 1) {
				t.Errorf("the next attempt is %d after %d failures", c.Attempt, c.Failures)
			}

			f = stop() // it ended by itself before it was stopped
			if next = f.state.Exit("1", schedule.Outcome{Class: schedule.Done}, f.policy, noon); next.Phase != schedule.Waiting {
				t.Errorf("after a normal end: %+v", next)
			}
		})
	}
}

func TestTheEndOfAnotherRunsSessionChangesNothing(t *testing.T) {
	t.Parallel()
	f := simple()
	f.claim(todo(1), schedule.Running, func(c *schedule.Claim) { c.Owner = other })
	f.claim(todo(2), schedule.Waiting, nil)
	before := f.dump(t)
	for _, id := range []tracker.ID{"1", "2", "3"} {
		next := f.state.Exit(id, schedule.Outcome{Class: schedule.Done, Usage: schedule.Usage{Input: 9}}, f.policy, f.now)
		if next.Phase != "" || next.Why.Reason != schedule.ClaimLost {
			t.Errorf("%s: %+v", id, next)
		}
		f.state.Heartbeat(id, schedule.Update{Alive: true, Usage: schedule.Usage{Input: 9}}, f.now)
	}
	if diff := cmp.Diff(before, f.dump(t)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func TestTheReasonOfAStopIsTheStatusOfTheAttempt(t *testing.T) {
	t.Parallel()
	for cause, want := range map[schedule.Reason]schedule.AttemptStatus{
		schedule.Stalled: schedule.StatusStalled,

		schedule.Terminal: schedule.StatusCanceledByReconciliation, schedule.NotActive: schedule.StatusCanceledByReconciliation, schedule.NotRoutable: schedule.StatusCanceledByReconciliation, schedule.NotDispatchable: schedule.StatusCanceledByReconciliation,
		schedule.NotVisible: schedule.StatusCanceledByReconciliation, schedule.ClaimLost: schedule.StatusCanceledByReconciliation,

		schedule.IssueBudget: schedule.StatusInterrupted, schedule.TickBudget: schedule.StatusInterrupted, schedule.DayBudget: schedule.StatusInterrupted,
		schedule.Interrupted: schedule.StatusInterrupted, schedule.DeadlineReached: schedule.StatusInterrupted, "": schedule.StatusInterrupted,
	} {
		if got := cause.Status(); got != want {
			t.Errorf("%q ends as %s, want %s", cause, got, want)
		}
	}
}

func TestAnIssueThatIsParkedForIdleSessionsSaysTheAgentsLastWords(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{"": "(budget.max_idle_sessions)", "The bug is\nfixed already.": "; the agent's last words: The bug is fixed already."} {
		s := schedule.New(schedule.Owner{Run: "1"})
		now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
		s.Claims["1"] = schedule.Claim{ID: "1", Identifier: "A-1", Phase: schedule.Running, Owner: s.Self, Since: now}
		next := s.Exit("1", schedule.Outcome{Class: schedule.Done, Idle: true, Said: said, Turns: 1}, schedule.Policy{Delivers: true, Budget: schedule.Budget{IdleSessions: 1}}, now)
		if next.Phase != schedule.Parked || !strings.HasSuffix(next.Why.Detail, want) {
			t.Errorf("%q: %+v", said, next)
		}
	}
}
