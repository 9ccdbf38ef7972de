package runner_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// lines returns the logged lines with the message.
func (f *fixture) lines(message string) (found []string) {
	for line := range strings.Lines(f.log.String()) {
		if strings.Contains(line, " msg="+message+" ") {
			found = append(found, line)
		}
	}
	return found
}

func TestTheEndOfASessionIsLoggedWithItsSessionAndItsProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.sessions = func(ctx context.Context, _ attempt.Job, report func(attempt.Update)) schedule.Outcome {
			report(attempt.Update{At: time.Now(), Session: "thread-turn", PID: 42, Status: schedule.StatusStreamingTurn, Update: schedule.Update{Turn: schedule.TurnBegan}})
			passes(ctx, time.Hour)
			o := stopped(ctx)
			o.Status = schedule.StatusStalled
			return o
		}
		tick := f.tick(t.Context())
		for _, message := range []string{"stopping", "stopped"} {
			lines := f.lines(message)
			if len(lines) != 1 || !strings.Contains(lines[0], " issue_id=A-1 issue_identifier=A-1 session_id=thread-turn pid=42 ") {
				t.Errorf("%s: %q", message, lines)
			}
		}
		if got := tick.Row("A-1").Status; got != schedule.StatusStalled {
			t.Errorf("the report says %q", got)
		}
	})
}

// Summaries are for people: no decision depends on them.
func TestTheSummariesOfASessionChangeNoState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		claims := func(updates ...attempt.Update) map[tracker.ID]schedule.Claim {
			f := newFixture(t, issue("A-1", "Todo"))
			f.sessions = func(ctx context.Context, _ attempt.Job, report func(attempt.Update)) schedule.Outcome {
				for _, u := range updates {
					u.At = time.Now()
					report(u)
				}
				passes(ctx, time.Second)
				return schedule.Outcome{Class: schedule.IssueFailed, Why: "turn_failed", Turns: 1, Thread: "thread"}
			}
			f.tick(t.Context())
			found := f.claims()
			for id, c := range found {
				c.Due = time.Time{}.Add(c.Due.Sub(c.Since)) // the two runs are seconds apart
				c.Since, c.Course.Ready = time.Time{}, time.Time{}
				found[id] = c
			}
			return found
		}
		want := claims()
		got := claims(
			attempt.Update{Event: "turn_completed", Summary: "the issue is done", Status: schedule.StatusSucceeded, Session: "a-b"},
			attempt.Update{Event: "turn_input_required", Summary: "asks a person: which one?", Status: schedule.StatusStalled},
			attempt.Update{Event: "startup_failed", Summary: "codex_not_logged_in: usage limit reached", Status: schedule.StatusFailed},
		)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTheDisplayShowsThePhaseOfAnAttemptAndItsCompletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		phases := []schedule.AttemptStatus{
			schedule.StatusPreparingWorkspace, schedule.StatusBuildingPrompt, schedule.StatusLaunchingAgentProcess,
			schedule.StatusInitializingSession, schedule.StatusStreamingTurn, schedule.StatusFinishing,
		}
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			for _, phase := range phases {
				report(attempt.Update{At: time.Now(), Status: phase})
				passes(ctx, time.Second)
			}
			return f.handOver(ctx, job, report)
		}
		r := f.run()
		var shown []schedule.AttemptStatus
		var completed []tracker.ID
		r.Progress = func(p progress.Progress) {
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

func TestAReconciliationWithNothingRunningAsksAndChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.tick(t.Context())
		if diff := cmp.Diff([]string{"list"}, f.board.reads); diff != "" {
			t.Errorf("what is asked of the tracker: %s", diff)
		}
		if n := len(f.claims()); n != 0 || f.state().Days != nil || f.state().History != nil {
			t.Errorf("the state holds %+v", f.state())
		}
	})
}
