package schedule_test

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// running returns a fixture in which the issues are worked on by this run.
func running(issues ...tracker.Issue) fixture {
	w := simple()
	for _, issue := range issues {
		w.claim(issue, schedule.Running, nil)
	}
	return w
}

func TestTheTimeOfAStoppedSessionIsCountedFromItsStart(t *testing.T) {
	t.Parallel()
	w := running(todo(1))
	w.state.Apply(schedule.Decision{Action: schedule.Stop, ID: "1", Why: schedule.Why{Reason: schedule.Stalled, Detail: "silent"}}, noon.Add(time.Minute))
	w.state.Exit("1", schedule.Outcome{Class: schedule.Stopped}, w.policy, noon.Add(65*time.Second))
	if got := w.state.Tick.Time; got != 65*time.Second {
		t.Errorf("the tick has %v, want 1m5s", got)
	}
	if got := w.state.SpentToday(noon).Time; got != 65*time.Second {
		t.Errorf("the day has %v, want 1m5s", got)
	}
}

func TestTheTimeOfShortSessionsIsNotRoundedAway(t *testing.T) {
	t.Parallel()
	w := running(todo(1), todo(2), todo(3), todo(4), todo(5), todo(6))
	for id := range maps.Clone(w.state.Claims) {
		w.state.Exit(id, schedule.Outcome{Class: schedule.Done, Turns: 1}, w.policy, noon.Add(1800*time.Millisecond))
	}
	if got, want := w.state.SpentToday(noon).Time, 10800*time.Millisecond; got != want {
		t.Errorf("six sessions of 1.8 s took %v, want %v", got, want)
	}
}

func TestCompletedIssuesAreRememberedAndGateNothing(t *testing.T) {
	t.Parallel()
	w := running(todo(1), todo(2), todo(3))
	gone := schedule.Outcome{Class: schedule.Done, Gone: true, Turns: 1}
	w.state.Exit("1", gone, w.policy, noon)
	w.state.Exit("2", schedule.Outcome{Class: schedule.IssueFailed, Why: "turn_failed"}, w.policy, noon)
	w.state.Exit("3", schedule.Outcome{Class: schedule.Done, Turns: 1}, w.policy, noon) // its claim stays, for a continuation
	before := w.state.Completed
	if diff := cmp.Diff([]tracker.ID{"1", "3"}, before); diff != "" {
		t.Error(diff)
	}

	// Issue 1 is back in the list: it starts as any other would.
	without := w.state.Clone()
	without.Completed = nil
	snap := schedule.Snapshot{Candidates: []tracker.Issue{todo(1)}}
	want := schedule.Plan(without, snap, w.policy, noon)
	if diff := cmp.Diff(want, schedule.Plan(w.state, snap, w.policy, noon)); diff != "" || len(want) != 1 || want[0].Action != schedule.Dispatch {
		t.Errorf("%+v\n%s", want, diff)
	}
	w.state.Apply(want[0], noon)
	w.state.Exit("1", gone, w.policy, noon)
	if diff := cmp.Diff([]tracker.ID{"3", "1"}, w.state.Completed); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]tracker.ID{"1", "3"}, before); diff != "" {
		t.Errorf("what a display shows has changed: %s", diff)
	}
}

func TestTheSetOfCompletedIssuesIsBounded(t *testing.T) {
	t.Parallel()
	w := simple()
	for n := range 1100 {
		issue := todo(n)
		w.claim(issue, schedule.Running, nil)
		w.state.Exit(issue.ID, schedule.Outcome{Class: schedule.Done, Gone: true}, w.policy, noon)
	}
	if n := len(w.state.Completed); n != 1000 || w.state.Completed[n-1] != todo(1099).ID || w.state.Completed[0] != todo(100).ID {
		t.Errorf("%d issues, the last is %s", n, w.state.Completed[n-1])
	}
}

func TestTheLaterEndOfTwoPausesCounts(t *testing.T) {
	t.Parallel()
	w := running(todo(1), todo(2))
	w.state.Exit("1", schedule.Outcome{Class: schedule.Systemic, Why: "usageLimitExceeded", RetryAt: noon.Add(time.Hour)}, w.policy, noon)
	w.state.Exit("2", schedule.Outcome{Class: schedule.Systemic, Why: "unauthorized"}, w.policy, noon)
	if got, want := w.state.Pause.Until, noon.Add(time.Hour); !got.Equal(want) {
		t.Errorf("paused until %v, want %v", got, want)
	}
}

func TestAnIssueThatCameBackKeepsItsWorkspace(t *testing.T) {
	t.Parallel()
	w, issue := running(todo(1)), todo(1)
	w.state.Apply(schedule.Decision{Action: schedule.Stop, ID: "1", Why: schedule.Why{Reason: schedule.Terminal, Detail: "is done"}}, noon)
	next := w.state.Exit("1", schedule.Outcome{Class: schedule.Stopped, Issue: &issue}, w.policy, noon)
	if next.Phase != "" || next.Clean {
		t.Errorf("released with its workspace: %+v", next)
	}
}

func TestAThreadOutlivesOneFailureAndNotTwo(t *testing.T) {
	t.Parallel()
	w := simple()
	w.claim(todo(1), schedule.Running, func(c *schedule.Claim) { c.Thread = "t1" })
	for _, want := range []string{"t1", ""} {
		w.state.Exit("1", schedule.Outcome{Class: schedule.IssueFailed, Why: "turn_failed"}, w.policy, w.now)
		if got := w.state.Claims["1"].Thread; got != want {
			t.Errorf("after %d failures it resumes %q, want %q", w.state.Claims["1"].Failures, got, want)
		}
		w.state.Apply(schedule.Decision{Action: schedule.Dispatch, ID: "1", Issue: todo(1)}, w.now)
	}
}

func TestWhatAnEndLeavesOfAClaim(t *testing.T) {
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
		{"passing", schedule.Outcome{Class: schedule.Transient}, left{schedule.Waiting, 3, 1, 1, 40 * time.Second, "t1"}},
		{"passing, to be tried later", schedule.Outcome{Class: schedule.Transient, RetryAt: hour}, left{schedule.Waiting, 3, 1, 1, time.Hour, "t1"}},
		{"thread lost", schedule.Outcome{Class: schedule.ThreadLost}, left{schedule.Waiting, 3, 2, 1, 40 * time.Second, ""}},
		{"thread lost, though it is named", schedule.Outcome{Class: schedule.ThreadLost, Thread: "t2"}, left{schedule.Waiting, 3, 2, 1, 40 * time.Second, ""}},
		{"everyone's", schedule.Outcome{Class: schedule.Systemic}, left{schedule.Waiting, 2, 1, 1, 0, "t1"}},
		{"a person's", schedule.Outcome{Class: schedule.NeedsInput, Thread: "t2"}, left{schedule.Parked, 2, 1, 1, 0, "t2"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := simple()
			w.claim(todo(1), schedule.Running, func(c *schedule.Claim) {
				c.Attempt, c.Failures, c.Idle, c.Thread = 2, 1, 1, "t1"
			})
			test.outcome.Why = "as told"
			next := w.state.Exit("1", test.outcome, w.policy, w.now)
			c := w.state.Claims["1"]
			checkShape(t, c)
			got := left{c.Phase, c.Attempt, c.Failures, c.Idle, 0, c.Thread}
			if c.Phase == schedule.Waiting {
				got.Wait = c.Due.Sub(w.now)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if next.Phase != c.Phase || !next.Due.Equal(c.Due) || next.Clean {
				t.Errorf("Exit says %+v and leaves %+v", next, c)
			}
		})
	}
}

func TestTheFirstAttemptIsNoRetryUntilATurnHasStarted(t *testing.T) {
	t.Parallel()
	for turns, want := range []int{0, 1, 1} {
		w := running(todo(1))
		w.state.Exit("1", schedule.Outcome{Class: schedule.Systemic, Why: "unauthorized", Turns: turns}, w.policy, w.now)
		if got := w.state.Claims["1"].Attempt; got != want {
			t.Errorf("after %d turns the next attempt is %d, want %d", turns, got, want)
		}
	}
}

func TestAQuestionThatIsAskedDuringAStopParksWhatStaysClaimed(t *testing.T) {
	t.Parallel()
	for cause, want := range map[schedule.Reason]schedule.Phase{
		schedule.Interrupted: schedule.Parked, schedule.DeadlineReached: schedule.Parked, schedule.DayBudget: schedule.Parked,
		schedule.Stalled: schedule.Parked, schedule.NotActive: "", schedule.Terminal: "", schedule.NotDispatchable: "",
	} {
		w := running(todo(1))
		w.state.Apply(schedule.Decision{Action: schedule.Stop, ID: "1", Why: schedule.Why{Reason: cause, Detail: "as told"}}, noon)
		next := w.state.Exit("1", schedule.Outcome{Class: schedule.NeedsInput, Why: "which colour?", Turns: 1}, w.policy, w.now)
		if next.Phase != want || want != "" && next.Why.Detail != "which colour?" {
			t.Errorf("%s: %+v, want phase %q", cause, next, want)
		}
	}
}

func TestAStopTakesOverTheStateThatLedToIt(t *testing.T) {
	t.Parallel()
	for state, cause := range map[string]schedule.Reason{"Review": schedule.NotActive, "Done": schedule.Terminal} {
		w := running(todo(1))
		moved := todo(1)
		moved.State = state
		w.snap.Claimed["1"] = &moved
		decisions := w.plan()
		if len(decisions) != 1 || decisions[0].Why.Reason != cause {
			t.Fatalf("%s: %+v", state, decisions)
		}
		if c := w.then(decisions).state.Claims["1"]; c.State != state || c.Phase != schedule.Stopping {
			t.Errorf("the claim is %+v", c)
		}
	}
}

func TestTheCauseOfAStopDecidesWhatBecomesOfTheClaim(t *testing.T) {
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
				w := running(todo(1))
				w.state.Apply(schedule.Decision{Action: schedule.Stop, ID: "1", Why: schedule.Why{Reason: test.cause, Detail: "as told"}}, noon)
				return w
			}
			w := stop()
			next := w.state.Exit("1", schedule.Outcome{Class: schedule.Stopped, Turns: 1}, w.policy, noon)
			if next.Phase != test.phase || !next.Due.Equal(test.due) || next.Clean != test.clean || next.Why.String() != "as told" {
				t.Errorf("it is %+v", next)
			}
			if c, claimed := w.state.Claims["1"]; claimed && (c.Failures != test.failures || c.Phase == schedule.Waiting && c.Attempt != 1) {
				t.Errorf("the next attempt is %d after %d failures", c.Attempt, c.Failures)
			}

			w = stop() // it ended by itself before it was told
			if next = w.state.Exit("1", schedule.Outcome{Class: schedule.Done}, w.policy, noon); next.Phase != schedule.Waiting {
				t.Errorf("after a normal end it is %+v", next)
			}
		})
	}
}

func TestAnEndOfAnotherRunsSessionChangesNothing(t *testing.T) {
	t.Parallel()
	w := simple()
	w.claim(todo(1), schedule.Running, func(c *schedule.Claim) { c.Owner = other })
	w.claim(todo(2), schedule.Waiting, nil)
	before := w.dump(t)
	for _, id := range []tracker.ID{"1", "2", "3"} {
		next := w.state.Exit(id, schedule.Outcome{Class: schedule.Done, Usage: schedule.Usage{Input: 9}}, w.policy, w.now)
		if next.Phase != "" || next.Why.Reason != schedule.ClaimLost {
			t.Errorf("of %s it says %+v", id, next)
		}
		w.state.Heartbeat(id, schedule.Update{Alive: true, Usage: schedule.Usage{Input: 9}}, w.now)
	}
	if diff := cmp.Diff(before, w.dump(t)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func TestAnAnswerOfTheModelEndsThePause(t *testing.T) {
	t.Parallel()
	pause := schedule.Pause{Why: "unauthorized", Since: noon.Add(-time.Hour), Until: noon}
	for name, event := range map[string]func(fixture){
		"tokens were used": func(w fixture) { w.state.Heartbeat("1", schedule.Update{Usage: schedule.Usage{Input: 1}}, noon) },
		"a turn failed": func(w fixture) {
			w.state.Exit("1", schedule.Outcome{Class: schedule.IssueFailed, Why: "tests fail", Turns: 1}, w.policy, noon)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := running(todo(1))
			w.state.Pause = pause
			event(w)
			if w.state.Pause != (schedule.Pause{}) {
				t.Errorf("still paused: %+v", w.state.Pause)
			}
		})
	}
	for name, event := range map[string]func(fixture){
		"alive, but without an answer": func(w fixture) { w.state.Heartbeat("1", schedule.Update{Alive: true, Turns: 1}, noon) },
		"no turn started": func(w fixture) {
			w.state.Exit("1", schedule.Outcome{Class: schedule.IssueFailed, Why: "hook failed"}, w.policy, noon)
		},
		"the service was busy": func(w fixture) {
			w.state.Exit("1", schedule.Outcome{Class: schedule.Transient, Why: "busy", Turns: 1}, w.policy, noon)
		},
		"it began in this tick": func(w fixture) {
			w.state.Tick.Paused = true
			w.state.Heartbeat("1", schedule.Update{Usage: schedule.Usage{Input: 1}}, noon)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := running(todo(1))
			w.state.Pause = pause
			event(w)
			if w.state.Pause != pause {
				t.Errorf("the pause is %+v", w.state.Pause)
			}
		})
	}
}
