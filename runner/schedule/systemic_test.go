package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

const cloneFailed = "hook after_create: hook_failed: exit status 128"

// fault is the end of a session by a fault of the workflow.
func fault(kind string) schedule.Outcome {
	return schedule.Outcome{Class: schedule.IssueFailed, Fault: kind, Why: kind + "; fix it"}
}

// exit ends a session as the runner does. It reports whether nobody is charged.
func (w *fixture) exit(id tracker.ID, o schedule.Outcome) (systemic bool) {
	o, excused := w.state.Reclassify(id, o)
	for _, before := range excused {
		w.state.Excuse(before, o.Why, noon)
	}
	w.state.Exit(id, o, w.policy, noon)
	return o.Class == schedule.Systemic
}

func TestAHookThatFailsInTheSameWayForTheFirstIssuesIsChargedToNone(t *testing.T) {
	t.Parallel()
	for _, attempts := range []int{1, 10} { // with 1 the first issue is parked at first
		w := running(todo(1), todo(2), todo(3), todo(4))
		w.policy.Budget.Attempts = attempts
		c := w.state.Claims["1"]
		c.Thread, c.Attempt = "thread", 1
		w.state.Claims["1"] = c
		if w.exit("1", fault(cloneFailed)) {
			t.Error("one issue alone is not everyone")
		}
		if !w.exit("2", fault(cloneFailed)) || !w.exit("3", fault(cloneFailed)) {
			t.Error("it is not held to be everyone's")
		}
		for _, id := range []tracker.ID{"1", "2", "3"} {
			if c := w.state.Claims[id]; c.Phase != schedule.Waiting || c.Failures != 0 || !c.Due.Equal(noon) {
				t.Errorf("charged: %+v", c)
			}
		}
		if c := w.state.Claims["1"]; c.Thread != "thread" || c.Attempt != 1 {
			t.Errorf("the first issue is not as it was: %+v", c)
		}
		if why := w.state.Pause.Why; why != "the first issues of the tick fail in the same way: "+cloneFailed+"; fix it" {
			t.Errorf("paused because of %q", why)
		}
		w.snap.Candidates = []tracker.Issue{todo(5)}
		if decisions := w.plan(); len(decisions) > 0 {
			t.Errorf("it starts %+v", decisions)
		}
	}
}

func TestAHookFailureIsTheIssuesOwn(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*fixture){
		"when it is the only one":         func(*fixture) {},
		"when another failed differently": func(w *fixture) { w.exit("1", fault("hook after_create: hook_failed: exit status 1")) },
		"when the same issue failed before": func(w *fixture) {
			w.exit("2", fault(cloneFailed))
			w.claim(todo(2), schedule.Running, nil)
		},
		"when the other one failed in an earlier tick": func(w *fixture) {
			w.exit("1", fault(cloneFailed))
			w.state.NewTick()
		},
		"when a session had a turn": func(w *fixture) {
			w.exit("1", fault(cloneFailed))
			w.exit("3", schedule.Outcome{Class: schedule.IssueFailed, Why: "turn_failed", Turns: 1})
		},
		"while a session has a turn": func(w *fixture) {
			w.exit("1", fault(cloneFailed))
			w.state.Heartbeat("3", schedule.Update{Turns: 1}, noon)
		},
	} {
		w := running(todo(1), todo(2), todo(3))
		before(&w)
		if w.exit("2", fault(cloneFailed)) || w.state.Claims["2"].Failures == 0 || w.state.Pause.Why != "" {
			t.Errorf("%s: %+v, pause %+v", name, w.state.Claims["2"], w.state.Pause)
		}
	}
}

func TestWhatIsParkedForTheWorkflowsFaultIsFreeWhenTheWorkflowChanges(t *testing.T) {
	t.Parallel()
	old, edited := schedule.Setup{Agent: "a", Workflow: "1"}, schedule.Setup{Agent: "a", Workflow: "2"}
	for name, test := range map[string]struct {
		outcome schedule.Outcome
		setup   schedule.Setup
		free    bool
	}{
		"a hook, and the workflow was edited":     {fault(cloneFailed), edited, true},
		"a prompt, and the workflow was edited":   {fault("the prompt of 1"), edited, true},
		"a hook, and the workflow is as it was":   {fault(cloneFailed), old, false},
		"a hook, and another key is used":         {fault(cloneFailed), schedule.Setup{Agent: "b", Workflow: "1"}, false},
		"a hook, and the workflow is not known":   {fault(cloneFailed), schedule.Setup{}, false},
		"a turn, and the workflow was edited":     {schedule.Outcome{Class: schedule.IssueFailed, Why: "turn_failed", Turns: 1}, edited, false},
		"a question, and the workflow was edited": {schedule.Outcome{Class: schedule.NeedsInput, Why: "which colour?", Turns: 1}, edited, false},
	} {
		w := running(todo(1))
		w.policy.Budget.Attempts = 1
		w.policy.Setup, w.policy.Salt = old, "salt"
		w.exit("1", test.outcome)
		if c := w.state.Claims["1"]; c.Phase != schedule.Parked {
			t.Fatalf("%s: it is not parked: %+v", name, c)
		}
		issue := todo(1)
		w.policy.Setup = test.setup
		w.snap = schedule.Snapshot{Candidates: []tracker.Issue{issue}, Claimed: map[tracker.ID]*tracker.Issue{"1": &issue}}
		var verbs []schedule.Action
		for _, d := range w.plan() {
			if d.Action != schedule.Observe {
				verbs = append(verbs, d.Action)
			}
		}
		var want []schedule.Action
		if test.free {
			want = []schedule.Action{schedule.Release, schedule.Dispatch}
			if w.state.Salt != "salt" {
				t.Errorf("%s: the digest is stored without its salt", name)
			}
		}
		if diff := cmp.Diff(want, verbs); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAPauseForTheWorkflowsFaultEndsWhenTheWorkflowChanges(t *testing.T) {
	t.Parallel()
	w := running(todo(1), todo(2))
	w.policy.Setup, w.policy.Salt = schedule.Setup{Agent: "a", Workflow: "1"}, "salt"
	w.exit("1", fault(cloneFailed))
	w.exit("2", fault(cloneFailed))
	if w.state.ResumeIfChanged(schedule.Setup{Agent: "b", Workflow: "1"}, noon) {
		t.Error("another key does not fix a hook")
	}
	if !w.state.ResumeIfChanged(schedule.Setup{Agent: "b", Workflow: "2"}, noon) || w.state.Pause.Until.After(noon) {
		t.Errorf("the pause goes on: %+v", w.state.Pause)
	}
}

func TestTheSessionThatTriesFirstIsNotOneThatFailedByTheWorkflow(t *testing.T) {
	t.Parallel()
	w := running(todo(1), todo(2))
	w.policy.Setup = schedule.Setup{Workflow: "1"}
	w.exit("1", fault(cloneFailed))
	w.exit("2", fault(cloneFailed))
	w.state.NewTick()
	one, two := todo(1), todo(2)
	w.snap = schedule.Snapshot{Candidates: []tracker.Issue{one, two, todo(3)}, Claimed: map[tracker.ID]*tracker.Issue{"1": &one, "2": &two}}
	starts := func() (ids []tracker.ID) {
		for _, d := range schedule.Plan(w.state, w.snap, w.policy, noon.Add(time.Hour)) {
			if d.Action == schedule.Dispatch {
				ids = append(ids, d.ID)
			}
		}
		return ids
	}
	if diff := cmp.Diff([]tracker.ID{"3"}, starts()); diff != "" {
		t.Errorf("with a choice (-want +got):\n%s", diff)
	}
	w.snap.Candidates = w.snap.Candidates[:2]
	if diff := cmp.Diff([]tracker.ID{"1"}, starts()); diff != "" {
		t.Errorf("without one (-want +got):\n%s", diff)
	}
}
