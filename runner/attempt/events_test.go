package attempt

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// phases returns the statuses that the updates of the attempt report, in their
// order.
func (f *fixture) phases() (phases []schedule.AttemptStatus) {
	for _, u := range f.updates {
		if u.Status != "" {
			phases = append(phases, u.Status)
		}
	}
	return phases
}

func TestAnAttemptReportsThePhasesItGoesThrough(t *testing.T) {
	t.Parallel()
	const preparing, building, launching = schedule.StatusPreparingWorkspace, schedule.StatusBuildingPrompt, schedule.StatusLaunchingAgentProcess
	const initializing, streaming, finishing = schedule.StatusInitializingSession, schedule.StatusStreamingTurn, schedule.StatusFinishing
	for name, test := range map[string]struct {
		script string
		change func(*fixture)
		want   []schedule.AttemptStatus
		ended  schedule.AttemptStatus
	}{
		"two turns": {"- [ ] Say `one`\n## Next turn\n- [ ] Say `two`\n", func(f *fixture) { f.job.MaxTurns = 2 },
			[]schedule.AttemptStatus{preparing, building, launching, initializing, streaming, streaming, finishing}, schedule.StatusSucceeded},
		"a workspace that cannot be made": {"", func(f *fixture) { f.hooks.AfterCreate = "exit 3" },
			[]schedule.AttemptStatus{preparing}, schedule.StatusFailed},
		"a hook before the agent": {"", func(f *fixture) { f.hooks.BeforeRun = "exit 3" },
			[]schedule.AttemptStatus{preparing, building, launching, finishing}, schedule.StatusFailed},
		"a hook that takes too long": {"", func(f *fixture) {
			f.hooks.AfterCreate, f.hooks.BeforeRun, f.hooks.AfterRun, f.hooks.Timeout, f.grace = "", "sleep 3600", "", 100*time.Millisecond, impatient
		}, []schedule.AttemptStatus{preparing, building, launching, finishing}, schedule.StatusTimedOut},
		"an agent that says nothing": {"", func(f *fixture) {
			f.job.Codex.Command, f.job.Codex.ReadTimeout = "read -r line; echo '{\"id\":1,\"result\":{}}'; cat > /dev/null", 200*time.Millisecond
		},
			[]schedule.AttemptStatus{preparing, building, launching, initializing, finishing}, schedule.StatusTimedOut},
		"a turn that takes too long": {"- [ ] Hang\n", func(f *fixture) { f.job.Codex.TurnTimeout = 100 * time.Millisecond },
			[]schedule.AttemptStatus{preparing, building, launching, initializing, streaming, finishing}, schedule.StatusTimedOut},
		"a turn that fails": {"- [ ] Exit `7`\n", func(*fixture) {},
			[]schedule.AttemptStatus{preparing, building, launching, initializing, streaming, finishing}, schedule.StatusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, test.script)
			test.change(f)
			if got := f.run(t.Context()); got.Status != test.ended {
				t.Errorf("it ended as %q, want %q: %s", got.Status, test.ended, got.Why)
			}
			if diff := cmp.Diff(test.want, f.phases()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A new phase is not a sign of life: only what the agent says ends its silence.
func TestANewPhaseDoesNotCountAsProgress(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Say `one`\n")
	f.run(t.Context())
	for _, u := range f.updates {
		if u.Alive && u.Status != "" && u.Status != schedule.StatusStreamingTurn {
			t.Errorf("%+v", u)
		}
	}
}

func TestEveryLogLineOfASessionNamesItAndItsProcess(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Ask for approval of `true`\n- [ ] Send `no JSON at all` verbatim\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.onUpdate = func(u Update) {
		if u.Event == "turn_completed" {
			cancel() // the issue is not read after the turn
		}
	}
	f.run(ctx)
	for text, level := range map[string]slog.Level{
		"turn 1 started":                        slog.LevelInfo,
		"approved":                              slog.LevelDebug,
		"no JSON":                               slog.LevelDebug,
		"the issue was not read after the turn": slog.LevelWarn,
	} {
		if n := f.logged(level, text, `"session_id":"`, `"pid":`); n != 1 {
			t.Errorf("%q is logged %d times with its session:\n%s", text, n, f.log.bytes.String())
		}
		if f.logged(level, text, `"session_id":""`) > 0 || f.logged(level, text, `"pid":0`) > 0 {
			t.Errorf("%q is logged with the session left empty:\n%s", text, f.log.bytes.String())
		}
	}
}

// The host publishes the work while the session is open, and its events go on.
func TestPhasesAndEventsAreReportedOneAtATime(t *testing.T) {
	t.Parallel()
	var inside, together atomic.Int32
	p := &progress{journal: &journal{log: slog.New(slog.DiscardHandler), redact: strings.Clone}, report: func(Update) {
		if inside.Add(1) > 1 {
			together.Add(1)
		}
		runtime.Gosched()
		inside.Add(-1)
	}}
	var working sync.WaitGroup
	working.Go(func() {
		for range 5000 {
			p.onEvent(codex.Event{Kind: codex.SessionStarted})
		}
	})
	for range 5000 {
		p.enter(schedule.StatusFinishing)
		p.enter(schedule.StatusLaunchingAgentProcess)
	}
	working.Wait()
	if n := together.Load(); n > 0 {
		t.Errorf("%d reports at the same time as others", n)
	}
}

// A check that fails is followed by a turn, and that by another check.
func TestEachCheckOfTheWorkIsAPhaseOfItsOwn(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `bad`\n## Next turn\n- [ ] Create `a.txt` containing `good`\n")
	f.job.Repository.Verify, f.job.Repository.VerifyRounds = []string{"grep -q good a.txt"}, 1
	f.session(t.Context())
	phases := slices.DeleteFunc(f.phases(), func(s schedule.AttemptStatus) bool {
		return s != schedule.StatusStreamingTurn && s != schedule.StatusFinishing
	})
	want := []schedule.AttemptStatus{schedule.StatusStreamingTurn, schedule.StatusFinishing, schedule.StatusStreamingTurn, schedule.StatusFinishing}
	if diff := cmp.Diff(want, phases); diff != "" {
		t.Error(diff)
	}
}
