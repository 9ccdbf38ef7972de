package attempt

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
)

const hangs = "- [ ] Say `ready`\n- [ ] Hang\n"

// assertStopped checks the outcome of an attempt that was stopped in its only turn.
func (f *fixture) assertStopped(got schedule.Outcome, cause schedule.Reason) {
	f.t.Helper()
	want := schedule.Outcome{
		Class: schedule.Stopped, Status: cause.Status(), Why: "stopped: " + string(cause),
		Thread: f.requests("turn/start")[0].Thread, Turns: 1, Usage: got.Usage, Idle: true,
		Warnings: got.Warnings, // an interrupt leaves after_run little time
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Error(diff)
	}
	if f.logged(slog.LevelInfo, "hook started", `"hook":"after_run"`) != 1 {
		f.t.Error("after_run was not started")
	}
}

// The statuses of all causes are in package schedule.
func TestASessionIsStoppedForItsCause(t *testing.T) {
	t.Parallel()
	for _, cause := range []schedule.Reason{schedule.Stalled, schedule.NotActive, schedule.Interrupted, schedule.DeadlineReached} {
		t.Run(string(cause), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, hangs)
			f.assertStopped(f.run(f.stopWhen("ready", cause)), cause)
			if len(f.requests("turn/interrupt")) != 1 {
				t.Error("the turn was not interrupted")
			}
			if cause == schedule.Interrupted {
				return // its after_run has little time
			}
			if diff := cmp.Diff(fullRun, f.traces()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAQuestionAskedWhileTheSessionIsStoppedIsNotLost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ script, when string }{
		"that the agent waits for": {"- [ ] Ask `Which colour?`\n", "asks a person"},
		"that the agent does not wait for": {"- [ ] Send `" +
			`{"method":"item/completed","params":{"item":{"type":"agentMessage","text":"?","questions":[{"title":"Which colour?"}]}}}` +
			"` verbatim\n" + hangs, "ready"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, test.script)
			got := f.run(f.stopWhen(test.when, schedule.Interrupted))
			if got.Class != schedule.NeedsInput || !strings.Contains(got.Why, "Which colour?") {
				t.Errorf("ended as %s: %s", got.Class, got.Why)
			}
		})
	}
}

func TestAnAgentThatDoesNotWantToEndIsKilledBeforeAfterRun(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"it ignores signals and the end of its input": "- [ ] Ignore signals and EOF\n" + hangs,
		"it floods us": "- [ ] Ignore signals and EOF\n- [ ] Say `ready`\n- [ ] Flood `1000000000`\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, script)
			f.grace = impatient
			f.hooks.AfterRun += "\n! kill -0 $(cat " + quote(f.path("agent.pid")) + ") || " + f.trace("alive")
			f.assertStopped(f.run(f.stopWhen("ready", schedule.Stalled)), schedule.Stalled)
			if diff := cmp.Diff(fullRun, f.traces()); diff != "" {
				t.Error(diff)
			}
			turn := f.requests("turn/start")[0]
			if f.logged(slog.LevelWarn, "process killed", `"session_id":"`+turn.Thread+"-", `"pid":`) != 1 {
				t.Errorf("the log does not name the session that was killed:\n%s", f.log.bytes.String())
			}
		})
	}
}

// An agent that is frozen does not even answer the interrupt.
func TestAFrozenAgentIsStopped(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	begun, frozen := f.fifo("begun"), f.fifo("frozen")
	f.setScript("- [ ] Run `cat " + quote(begun) + "; kill -STOP $PPID; echo > " + quote(frozen) + "`\n")
	f.grace = impatient
	ctx, cancel := context.WithCancelCause(t.Context())
	f.onUpdate = func(u Update) {
		if u.Event != string(codex.SessionStarted) {
			return
		}
		go func() {
			os.WriteFile(begun, nil, 0) // waits for the command
			os.ReadFile(frozen)
			cancel(schedule.StopError(schedule.Stalled))
		}()
	}
	f.assertStopped(f.run(ctx), schedule.Stalled)
	if diff := cmp.Diff(fullRun, f.traces()); diff != "" {
		t.Error(diff)
	}
}

func TestASessionThatIsStoppedInAHookStartsNoAgent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	running := f.fifo("running")
	f.grace = impatient
	f.hooks.BeforeRun += "\necho $$ > " + quote(f.path("hook.pid")) + "\necho > " + quote(running) + "\nsleep 3600"
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		os.ReadFile(running) // once it is
		cancel(schedule.StopError(schedule.NotActive))
	}()
	want := schedule.Outcome{Class: schedule.Stopped, Status: schedule.StatusCanceledByReconciliation, Why: "stopped: not_active", Idle: true}
	if diff := cmp.Diff(want, f.run(ctx)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"after_create", "before_run", "after_run"}, f.traces()); diff != "" {
		t.Error(diff)
	}
	pid, _ := f.readPID("hook.pid")
	f.assertDead(pid)
}

func TestASessionThatIsStoppedBeforeItBeginsDoesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(schedule.StopError(schedule.DeadlineReached))
	want := schedule.Outcome{Class: schedule.Stopped, Status: schedule.StatusInterrupted, Why: "stopped: deadline", Idle: true}
	if diff := cmp.Diff(want, f.run(ctx)); diff != "" {
		t.Error(diff)
	}
	began := func(u Update) bool { return u.Status != schedule.StatusPreparingWorkspace }
	if traces := f.traces(); len(traces) > 0 || slices.ContainsFunc(f.updates, began) {
		t.Errorf("%v %+v", traces, f.updates)
	}
}

// The issue as an earlier turn read it may be out of date.
func TestASessionThatIsStoppedInALaterTurnKnowsNothingOfTheIssue(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Move this issue to `In Progress`\n## Next turn\n"+hangs)
	f.job.MaxTurns = 2
	got := f.run(f.stopWhen("ready", schedule.Terminal))
	if got.Class != schedule.Stopped || got.Turns != 2 || got.Issue != nil || got.Gone {
		t.Errorf("%+v", got)
	}
}

func TestAnInterruptedRunDoesNotWaitForASlowAfterRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hangs)
	f.hooks.AfterRun = "trap '' TERM; sleep 3600 & wait; sleep 3600"
	f.grace = impatient
	got := f.run(f.stopWhen("ready", schedule.Interrupted))
	f.assertStopped(got, schedule.Interrupted)
	if f.logged(slog.LevelWarn, "hook failed", `"hook":"after_run"`) != 1 {
		t.Errorf("after_run was not cut short:\n%s", f.log.bytes.String())
	}
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "hook after_run: not finished: the run was interrupted") {
		t.Errorf("it is not reported: %q", got.Warnings)
	}
}

func TestAnInterruptEndsAnAfterRunThatRunsAlready(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Say `hello`\n")
	running := f.fifo("running")
	f.hooks.AfterRun += "\necho > " + quote(running) + "; sleep 3600"
	f.grace = impatient
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		os.ReadFile(running) // once it is
		cancel(schedule.StopError(schedule.Interrupted))
	}()
	if got := f.run(ctx); got.Class != schedule.Stopped || got.Why != "stopped: interrupted" {
		t.Errorf("%+v", got)
	}
}

func TestAStoppedSessionIsNotOverBeforeAfterRunIs(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hangs)
	at, goOn := f.fifo("at"), f.fifo("go-on")
	f.hooks.AfterRun += "\necho > " + quote(at) + "\ncat " + quote(goOn) + " > /dev/null\n" + f.trace("after_run_ended")
	go func() {
		os.ReadFile(at) // after_run waits
		os.WriteFile(goOn, nil, 0)
	}()
	f.assertStopped(f.run(f.stopWhen("ready", schedule.Stalled)), schedule.Stalled)
	if traces := strings.Join(f.traces(), " "); !strings.HasSuffix(traces, "after_run after_run_ended") {
		t.Error(traces)
	}
}
