package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
)

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
		w := running(todo(1))
		w.policy.Setup, w.policy.Salt = old, "salt"
		w.state.Exit("1", schedule.Outcome{Class: schedule.Systemic, Why: "unauthorized", RetryAt: noon.Add(time.Hour)}, w.policy, noon)
		if w.state.Salt != "salt" {
			t.Fatalf("the salt of the digests is %q", w.state.Salt)
		}
		if over := w.state.ResumeIfChanged(test.setup, noon); over != test.over {
			t.Errorf("%s: over %v", name, over)
		}
		want := noon.Add(time.Hour)
		if test.over {
			want = noon
		}
		if got := w.state.Pause.Until; !got.Equal(want) {
			t.Errorf("%s: paused until %v, want %v", name, got, want)
		}
		if w.state.ResumeIfChanged(test.setup, noon) {
			t.Errorf("%s: it ends a second time", name)
		}
	}
}

func TestASessionThatBeganBeforeAPauseDoesNotEndIt(t *testing.T) {
	t.Parallel()
	for name, works := range map[string]func(fixture){
		"by its tokens": func(w fixture) {
			w.state.Heartbeat("1", schedule.Update{Turns: 1, Usage: schedule.Usage{Input: 10}}, noon.Add(2*time.Minute))
		},
		"by its end": func(w fixture) {
			w.state.Exit("1", schedule.Outcome{Class: schedule.Done, Turns: 1}, w.policy, noon.Add(2*time.Minute))
		},
	} {
		for _, test := range []struct {
			pause time.Duration // after the session began
			over  bool
		}{{time.Minute, false}, {-time.Minute, true}} {
			w := simple()
			w.claim(todo(1), schedule.Running, func(c *schedule.Claim) { c.Since = noon })
			w.state.Pause = schedule.Pause{Why: "codex_not_found", Since: noon.Add(test.pause), Until: noon.Add(time.Hour)}
			if works(w); (w.state.Pause.Why == "") != test.over {
				t.Errorf("%s, paused %v after it began: the pause is %+v", name, test.pause, w.state.Pause)
			}
		}
	}
}

func TestAPauseThatAnOperatorEndedLetsOneSessionTryFirst(t *testing.T) {
	t.Parallel()
	w := simple()
	w.state.Pause = schedule.Pause{Why: "usageLimitExceeded", Since: noon, Until: noon.Add(24 * time.Hour)}
	w.snap.Candidates = append(w.snap.Candidates, todo(1), todo(2))
	if decisions := w.plan(); len(decisions) > 0 {
		t.Fatalf("planned in the pause: %v", decisions)
	}
	if !w.state.Resume(noon) {
		t.Fatal("there was nothing to end")
	}
	var starts []string
	for _, d := range w.plan() {
		starts = append(starts, string(d.Action)+" "+string(d.ID))
	}
	if diff := cmp.Diff([]string{"dispatch 1"}, starts); diff != "" {
		t.Error(diff)
	}
	if w.state.Resume(noon) {
		t.Error("it ends a second time")
	}
	if schedule.New(me).Resume(noon) {
		t.Error("a pause that is none ended")
	}
}
