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
