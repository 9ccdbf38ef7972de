package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestTheLaterEndOfTwoPausesCounts(t *testing.T) {
	t.Parallel()
	f := running(todo(1), todo(2))
	f.state.Exit("1", schedule.Outcome{Class: schedule.Systemic, Why: "usageLimitExceeded", RetryAt: noon.Add(time.Hour)}, f.policy, noon)
	f.state.Exit("2", schedule.Outcome{Class: schedule.Systemic, Why: "unauthorized"}, f.policy, noon)
	if got, want := f.state.Pause.Until, noon.Add(time.Hour); !got.Equal(want) {
		t.Errorf("paused until %v, want %v", got, want)
	}
}

func TestAnAnswerOfTheModelEndsThePause(t *testing.T) {
	t.Parallel()
	pause := schedule.Pause{Why: "unauthorized", Since: noon.Add(-time.Hour), Until: noon}
	for name, event := range map[string]func(fixture){
		"tokens were used": func(f fixture) { f.state.Heartbeat("1", schedule.Update{Usage: schedule.Usage{Input: 1}}, noon) },
		"a turn failed": func(f fixture) {
			f.state.Exit("1", schedule.Outcome{Class: schedule.IssueFailed, Why: "tests fail", Turns: 1}, f.policy, noon)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := running(todo(1))
			f.state.Pause = pause
			event(f)
			if f.state.Pause != (schedule.Pause{}) {
				t.Errorf("still paused: %+v", f.state.Pause)
			}
		})
	}
	for name, event := range map[string]func(fixture){
		"alive, but without an answer": func(f fixture) { f.state.Heartbeat("1", schedule.Update{Alive: true, Turns: 1}, noon) },
		"no turn started": func(f fixture) {
			f.state.Exit("1", schedule.Outcome{Class: schedule.IssueFailed, Why: "hook failed"}, f.policy, noon)
		},
		"the service was busy": func(f fixture) {
			f.state.Exit("1", schedule.Outcome{Class: schedule.Transient, Why: "busy", Turns: 1}, f.policy, noon)
		},
		"it began in this tick": func(f fixture) {
			f.state.Tick.Paused = true
			f.state.Heartbeat("1", schedule.Update{Usage: schedule.Usage{Input: 1}}, noon)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := running(todo(1))
			f.state.Pause = pause
			event(f)
			if f.state.Pause != pause {
				t.Errorf("the pause is %+v", f.state.Pause)
			}
		})
	}
}

func TestAnotherSetupOfTheAgentEndsThePauseAndNothingElseDoes(t *testing.T) {
	t.Parallel()
	old := schedule.Setup{Agent: "key 1", Workflow: "prompt 1"}
	for name, test := range map[string]struct {
		setup schedule.Setup
		over  bool
	}{
		"the same":             {old, false},
		"another key":          {schedule.Setup{Agent: "key 2", Workflow: "prompt 1"}, true},
		"another prompt":       {schedule.Setup{Agent: "key 1", Workflow: "prompt 2"}, false},
		"one that is unknown":  {schedule.Setup{}, false},
		"another in all parts": {schedule.Setup{Agent: "key 2", Workflow: "prompt 2"}, true},
	} {
		f := running(todo(1))
		f.policy.Setup, f.policy.Salt = old, "salt"
		f.state.Exit("1", schedule.Outcome{Class: schedule.Systemic, Why: "unauthorized", RetryAt: noon.Add(time.Hour)}, f.policy, noon)
		if f.state.Salt != "salt" {
			t.Fatalf("the salt of the digests is %q", f.state.Salt)
		}
		if over := f.state.ResumeIfChanged(test.setup, noon); over != test.over {
			t.Errorf("%s: over %v", name, over)
		}
		want := noon.Add(time.Hour)
		if test.over {
			want = noon
		}
		if got := f.state.Pause.Until; !got.Equal(want) {
			t.Errorf("%s: paused until %v, want %v", name, got, want)
		}
		if f.state.ResumeIfChanged(test.setup, noon) {
			t.Errorf("%s: it ends a second time", name)
		}
	}
}

func TestASessionThatBeganBeforeAPauseDoesNotEndIt(t *testing.T) {
	t.Parallel()
	for name, works := range map[string]func(fixture){
		"by its tokens": func(f fixture) {
			f.state.Heartbeat("1", schedule.Update{Turns: 1, Usage: schedule.Usage{Input: 10}}, noon.Add(2*time.Minute))
		},
		"by its end": func(f fixture) {
			f.state.Exit("1", schedule.Outcome{Class: schedule.Done, Turns: 1}, f.policy, noon.Add(2*time.Minute))
		},
	} {
		for _, test := range []struct {
			pause time.Duration // after the session began
			over  bool
		}{{time.Minute, false}, {-time.Minute, true}} {
			f := simple()
			f.claim(todo(1), schedule.Running, func(c *schedule.Claim) { c.Since = noon })
			f.state.Pause = schedule.Pause{Why: "codex_not_found", Since: noon.Add(test.pause), Until: noon.Add(time.Hour)}
			if works(f); (f.state.Pause.Why == "") != test.over {
				t.Errorf("%s, paused %v after it began: the pause is %+v", name, test.pause, f.state.Pause)
			}
		}
	}
}

func TestAPauseThatAnOperatorEndedStartsOneSessionFirst(t *testing.T) {
	t.Parallel()
	f := simple()
	f.state.Pause = schedule.Pause{Why: "usageLimitExceeded", Since: noon, Until: noon.Add(24 * time.Hour)}
	f.snap.Candidates = append(f.snap.Candidates, todo(1), todo(2))
	if decisions := f.plan(); len(decisions) > 0 {
		t.Fatalf("planned in the pause: %v", decisions)
	}
	if !f.state.Resume(noon) {
		t.Fatal("there was nothing to end")
	}
	var starts []string
	for _, d := range f.plan() {
		starts = append(starts, string(d.Action)+" "+string(d.ID))
	}
	if diff := cmp.Diff([]string{"dispatch 1"}, starts); diff != "" {
		t.Error(diff)
	}
	if f.state.Resume(noon) {
		t.Error("it ends a second time")
	}
	if schedule.New(me).Resume(noon) {
		t.Error("Resume ended a pause that does not exist")
	}
}

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
	for _, attempts := range []int{1, 10} { // with 1 the first issue is parked at first
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

func TestTheFirstSessionAfterAPauseIsNotOneThatFailedByTheWorkflow(t *testing.T) {
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
