package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
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
			pause time.Duration // start of the pause, counted from the start of the session
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

func TestAPauseEndsWhenTheTestOfItsCausePasses(t *testing.T) {
	t.Parallel()
	fails := func(f fixture, cause schedule.Cause, at time.Time) {
		f.claim(todo(1), schedule.Running, nil)
		f.state.Exit("1", schedule.Outcome{Class: schedule.Systemic, Why: "it does not start", Cause: cause}, f.policy, at)
		f.state.NewTick()
	}
	for cause, testable := range map[schedule.Cause]bool{schedule.CauseStart: true, schedule.CauseMachine: true, schedule.CauseDelivery: false, "": false} {
		f := simple()
		fails(f, cause, noon)
		if got, began, ok := f.state.Pause.ToTest(noon); ok != testable || ok && (got != cause || !began.Equal(noon)) {
			t.Errorf("%q: to be tested: %v, %q since %v", cause, ok, got, began)
		}
	}
	f := simple()
	fails(f, schedule.CauseStart, noon)
	if f.state.TestPassed(noon.Add(-time.Minute), noon) {
		t.Error("the test of another pause ends this one")
	}
	if _, _, ok := f.state.Pause.ToTest(noon.Add(time.Hour)); ok {
		t.Error("a pause that is over is tested: one session tries in any case")
	}
	if !f.state.TestPassed(noon, noon) || f.state.Pause.Until.After(noon) || f.state.Pause.Why == "" {
		t.Errorf("it does not let one session try: %+v", f.state.Pause)
	}
	fails(f, schedule.CauseStart, noon.Add(time.Minute))
	if _, _, ok := f.state.Pause.ToTest(noon.Add(time.Minute)); ok {
		t.Error("a test that does not see the failure would start a session in each run")
	}
	fails(f, schedule.CauseMachine, noon.Add(2*time.Minute))
	if _, _, ok := f.state.Pause.ToTest(noon.Add(2 * time.Minute)); !ok {
		t.Error("another cause is not tested")
	}
}

func TestTheEndOfAPauseFreesWhatItsFaultHasParkedBefore(t *testing.T) {
	t.Parallel()
	paused := func() fixture {
		f := running(todo(1), todo(2), todo(3), todo(4), todo(5))
		f.policy.Budget.Attempts = 1
		f.policy.MaxBackoff = time.Minute
		f.exit("1", fault(cloneFailed)) // parked in an earlier tick
		f.state.NewTick()
		f.exit("2", fault("hook after_create: hook_failed: exit status 1"))
		f.state.NewTick()
		f.exit("3", fault(cloneFailed))
		f.exit("4", fault(cloneFailed))
		f.state.NewTick()
		if f.state.Pause.Why == "" || f.state.Claims["1"].Phase != schedule.Parked || f.state.Claims["2"].Phase != schedule.Parked {
			t.Fatalf("%+v", f.state.Claims)
		}
		return f
	}
	for name, end := range map[string]func(fixture){
		"a person ends it": func(f fixture) { f.state.Resume(noon) },
		"a session works": func(f fixture) {
			f.state.Claims["5"] = schedule.Claim{ID: "5", Phase: schedule.Running, Owner: me, Since: noon.Add(time.Hour)}
			f.state.Heartbeat("5", schedule.Update{Turns: 1, Usage: schedule.Usage{Input: 1}}, noon.Add(time.Hour))
		},
	} {
		f := paused()
		end(f)
		if c := f.state.Claims["1"]; c.Phase != schedule.Waiting || c.Failures != 0 || c.Due.After(noon.Add(time.Hour)) {
			t.Errorf("%s: it stays: %+v", name, c)
		}
		if c := f.state.Claims["2"]; c.Phase != schedule.Parked || c.Failures == 0 {
			t.Errorf("%s: the failure of another hook is forgotten: %+v", name, c)
		}
	}
	f := paused()
	f.state.Apply(schedule.Decision{Action: schedule.Park, ID: "1", Why: schedule.Why{Reason: schedule.Commanded, Detail: "kim wrote stop"}}, noon)
	if f.state.Resume(noon); f.state.Claims["1"].Phase != schedule.Parked {
		t.Error("an issue that a person stopped goes on")
	}
}
