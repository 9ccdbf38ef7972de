package runner_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// lines returns the logged lines with the message.
func (w *world) lines(message string) (found []string) {
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, " msg="+message+" ") {
			found = append(found, line)
		}
	}
	return found
}

func TestTheEndOfASessionIsLoggedWithItsSessionAndItsProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, issue("A-1", "Todo"))
		w.sessions = func(ctx context.Context, _ attempt.Job, report func(attempt.Update)) schedule.Outcome {
			report(attempt.Update{At: time.Now(), Session: "thread-turn", PID: 42, Status: schedule.StatusStreamingTurn, Update: schedule.Update{Turn: schedule.TurnBegan}})
			passes(ctx, time.Hour)
			o := stopped(ctx)
			o.Status = schedule.StatusStalled
			return o
		}
		tick := w.tick(t.Context())
		for _, message := range []string{"stopping", "stopped"} {
			lines := w.lines(message)
			if len(lines) != 1 || !strings.Contains(lines[0], " session_id=thread-turn pid=42 ") {
				t.Errorf("%s: %q", message, lines)
			}
		}
		if got := tick.Row("A-1").Status; got != schedule.StatusStalled {
			t.Errorf("the report says %q", got)
		}
	})
}

func TestTheDisplayShowsThePhaseOfAnAttemptAndItsCompletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, issue("A-1", "Todo"))
		phases := []schedule.AttemptStatus{
			schedule.StatusPreparingWorkspace, schedule.StatusBuildingPrompt, schedule.StatusLaunchingAgentProcess,
			schedule.StatusInitializingSession, schedule.StatusStreamingTurn, schedule.StatusFinishing,
		}
		w.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			for _, phase := range phases {
				report(attempt.Update{At: time.Now(), Status: phase})
				passes(ctx, time.Second)
			}
			return w.handOver(ctx, job, report)
		}
		r := w.run()
		var shown []schedule.AttemptStatus
		var completed []tracker.ID
		r.Progress = func(p runner.Progress) {
			completed = p.Completed
			for _, s := range p.Sessions {
				if s.Status != "" && (len(shown) == 0 || shown[len(shown)-1] != s.Status) {
					shown = append(shown, s.Status)
				}
			}
		}
		if _, err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(phases, shown); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]tracker.ID{"A-1"}, completed); diff != "" {
			t.Errorf("the completed issues: %s", diff)
		}
	})
}
