package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

const cloneFailed = "hook after_create: hook_failed: exit status 128"

// fault returns the end of a session by a fault of the workflow.
func fault(kind string) schedule.Outcome {
	return schedule.Outcome{Class: schedule.IssueFailed, Fault: kind, Why: kind + "; fix it"}
}

// exit ends a session as the runner does, and reports whether the failure is systemic.
func (f *fixture) exit(id tracker.ID, o schedule.Outcome) (systemic bool) {
	o, charged := f.state.Reclassify(id, o)
	for _, other := range charged {
		f.state.Excuse(other.Before, o.Why, noon)
	}
	f.state.Exit(id, o, f.policy, noon)
	return o.Class == schedule.Systemic
}

func TestAHookThatFailsAlikeForTheFirstIssuesIsSystemic(t *testing.T) {
	t.Parallel()
	for _, attempts := range []int{1, 10} { // 1 parks the first issue at first
		f := running(todo(1), todo(2), todo(3), todo(4))
		f.policy.Budget.Attempts = attempts
		c := f.state.Claims["1"]
		c.Thread, c.Attempt = "thread", 1
		f.state.Claims["1"] = c
		if f.exit("1", fault(cloneFailed)) {
			t.Error("the failure of one issue is not systemic")
		}
		if !f.exit("2", fault(cloneFailed)) || !f.exit("3", fault(cloneFailed)) {
			t.Error("it is not systemic")
		}
		for _, id := range []tracker.ID{"1", "2", "3"} {
			if c := f.state.Claims[id]; c.Phase != schedule.Waiting || c.Failures != 0 || !c.Due.Equal(noon) {
				t.Errorf("charged: %+v", c)
			}
		}
		if c := f.state.Claims["1"]; c.Thread != "thread" || c.Attempt != 1 {
			t.Errorf("the first issue has changed: %+v", c)
		}
		if why := f.state.Pause.Why; why != "the first issues of the tick fail in the same way: "+cloneFailed+"; fix it" {
			t.Errorf("paused because of %q", why)
		}
		f.snap.Candidates = []tracker.Issue{todo(5)}
		if decisions := f.plan(); len(decisions) > 0 {
			t.Errorf("it starts %+v", decisions)
		}
	}
}

func TestAHookFailureCountsAgainstTheIssue(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*fixture){
		"when it is the only one":         func(*fixture) {},
		"when another failed differently": func(f *fixture) { f.exit("1", fault("hook after_create: hook_failed: exit status 1")) },
		"when the same issue failed before": func(f *fixture) {
			f.exit("2", fault(cloneFailed))
			f.claim(todo(2), schedule.Running, nil)
		},
		"when the other one failed in an earlier tick": func(f *fixture) {
			f.exit("1", fault(cloneFailed))
			f.state.NewTick()
		},
		"when a session had a turn": func(f *fixture) {
			f.exit("1", fault(cloneFailed))
			f.exit("3", schedule.Outcome{Class: schedule.IssueFailed, Why: "turn_failed", Turns: 1})
		},
		"while a session has a turn": func(f *fixture) {
			f.exit("1", fault(cloneFailed))
			f.state.Heartbeat("3", schedule.Update{Turns: 1}, noon)
		},
	} {
		f := running(todo(1), todo(2), todo(3))
		before(&f)
		if f.exit("2", fault(cloneFailed)) || f.state.Claims["2"].Failures == 0 || f.state.Pause.Why != "" {
			t.Errorf("%s: %+v, pause %+v", name, f.state.Claims["2"], f.state.Pause)
		}
	}
}

// Sessions have turns before they push, so what the server says to the second one counts: of
// the same tick or a later one, on another issue or the same.
func TestTheSameRefusalOfTwoPushesIsSystemic(t *testing.T) {
	t.Parallel()
	refused := func(rule string) schedule.Outcome {
		return schedule.Outcome{Class: schedule.IssueFailed, Cause: schedule.CauseDelivery, Fault: rule, Why: "push_rejected", Turns: 2, Usage: schedule.Usage{Input: 9}}
	}
	const signatures = "push: Commits must have verified signatures."
	for name, test := range map[string]struct {
		first, second tracker.ID
		rule          string // rule of the second refusal
		later         bool   // the second comes in another tick
		systemic      bool
	}{
		"of another issue":         {"1", "2", signatures, false, true},
		"of another issue, later":  {"1", "2", signatures, true, true},
		"of the same issue":        {"1", "1", signatures, true, true},
		"for another reason":       {"1", "2", "push: no", false, false},
		"for a reason in the work": {"1", "2", "", false, false},
	} {
		f := running(todo(1), todo(2), todo(3))
		if f.exit("1", refused(signatures)) {
			t.Errorf("%s: the first refusal is systemic", name)
		}
		if test.later {
			f.state.NewTick()
		}
		if test.first == test.second {
			c := f.state.Claims["1"]
			c.Phase, c.Owner = schedule.Running, me
			f.state.Claims["1"] = c
		}
		if f.exit(test.second, refused(test.rule)) != test.systemic {
			t.Errorf("%s: systemic is %v", name, !test.systemic)
		}
		if !test.systemic {
			continue
		}
		if p := f.state.Pause; p.Until.Before(noon.Add(time.Hour)) || p.Cause != schedule.CauseDelivery {
			t.Errorf("%s: the pause is %+v", name, p)
		}
		f.state.NewTick()
		c := f.state.Claims["3"]
		c.Since = noon.Add(time.Minute)
		f.state.Claims["3"] = c
		f.state.Heartbeat("3", schedule.Update{Turns: 1, Usage: schedule.Usage{Input: 1}}, noon)
		if f.state.Pause.Why == "" {
			t.Errorf("%s: a session that has delivered nothing ends the pause", name)
		}
		f.state.Exit("3", schedule.Outcome{Class: schedule.Done, Turns: 1, Delivered: true}, f.policy, noon)
		if c := f.state.Claims["1"]; f.state.Pause.Why != "" || c.Failures != 0 {
			t.Errorf("%s: after a delivery: %+v, %+v", name, f.state.Pause, c)
		}
	}
}

func TestAnIssueParkedForAFaultOfTheWorkflowIsReleasedWhenTheWorkflowChanges(t *testing.T) {
	t.Parallel()
	old, edited := schedule.Setup{Agent: "a", Workflow: "1"}, schedule.Setup{Agent: "a", Workflow: "2"}
	for name, test := range map[string]struct {
		outcome schedule.Outcome
		setup   schedule.Setup
		free    bool
	}{
		"a hook, and the workflow was edited":     {fault(cloneFailed), edited, true},
		"a prompt, and the workflow was edited":   {fault("the prompt of 1"), edited, true},
		"a hook, and the workflow is the same":    {fault(cloneFailed), old, false},
		"a hook, and another key is used":         {fault(cloneFailed), schedule.Setup{Agent: "b", Workflow: "1"}, false},
		"a hook, and the workflow is not known":   {fault(cloneFailed), schedule.Setup{}, false},
		"a turn, and the workflow was edited":     {schedule.Outcome{Class: schedule.IssueFailed, Why: "turn_failed", Turns: 1}, edited, false},
		"a question, and the workflow was edited": {schedule.Outcome{Class: schedule.NeedsInput, Why: "which colour?", Turns: 1}, edited, false},
	} {
		f := running(todo(1))
		f.policy.Budget.Attempts = 1
		f.policy.Setup, f.policy.Salt = old, "salt"
		f.exit("1", test.outcome)
		if c := f.state.Claims["1"]; c.Phase != schedule.Parked {
			t.Fatalf("%s: not parked: %+v", name, c)
		}
		issue := todo(1)
		f.policy.Setup = test.setup
		f.snap = schedule.Snapshot{Candidates: []tracker.Issue{issue}, Claimed: map[tracker.ID]*tracker.Issue{"1": &issue}}
		var actions []schedule.Action
		for _, d := range f.plan() {
			if d.Action != schedule.Observe {
				actions = append(actions, d.Action)
			}
		}
		var want []schedule.Action
		if test.free {
			want = []schedule.Action{schedule.Release, schedule.Dispatch}
			if f.state.Salt != "salt" {
				t.Errorf("%s: the digest is stored without its salt", name)
			}
		}
		if diff := cmp.Diff(want, actions); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAPauseForAFaultOfTheWorkflowEndsWhenTheWorkflowChanges(t *testing.T) {
	t.Parallel()
	f := running(todo(1), todo(2))
	f.policy.Setup, f.policy.Salt = schedule.Setup{Agent: "a", Workflow: "1"}, "salt"
	f.exit("1", fault(cloneFailed))
	f.exit("2", fault(cloneFailed))
	if f.state.ResumeIfChanged(schedule.Setup{Agent: "b", Workflow: "1"}, noon) {
		t.Error("another key does not fix a hook")
	}
	if !f.state.ResumeIfChanged(schedule.Setup{Agent: "b", Workflow: "2"}, noon) || f.state.Pause.Until.After(noon) {
		t.Errorf("the pause continues: %+v", f.state.Pause)
	}
}

func TestAfterAPauseAnIssueThatHadNoFaultStartsFirst(t *testing.T) {
	t.Parallel()
	f := running(todo(1), todo(2))
	f.policy.Setup = schedule.Setup{Workflow: "1"}
	f.exit("1", fault(cloneFailed))
	f.exit("2", fault(cloneFailed))
	f.state.NewTick()
	one, two := todo(1), todo(2)
	f.snap = schedule.Snapshot{Candidates: []tracker.Issue{one, two, todo(3)}, Claimed: map[tracker.ID]*tracker.Issue{"1": &one, "2": &two}}
	starts := func() (ids []tracker.ID) {
		for _, d := range schedule.Plan(f.state, f.snap, f.policy, noon.Add(time.Hour)) {
			if d.Action == schedule.Dispatch {
				ids = append(ids, d.ID)
			}
		}
		return ids
	}
	if diff := cmp.Diff([]tracker.ID{"3"}, starts()); diff != "" {
		t.Errorf("with a choice (-want +got):\n%s", diff)
	}
	f.snap.Candidates = f.snap.Candidates[:2]
	if diff := cmp.Diff([]tracker.ID{"1"}, starts()); diff != "" {
		t.Errorf("without one (-want +got):\n%s", diff)
	}
}
