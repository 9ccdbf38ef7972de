package schedule_test

import (
	"testing"

	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestTheCauseOfAStopSaysHowTheAttemptEnded(t *testing.T) {
	t.Parallel()
	for cause, want := range map[schedule.Cause]schedule.AttemptStatus{
		schedule.Stalled: schedule.StatusStalled,

		schedule.BecameDone: schedule.StatusCanceledByReconciliation, schedule.LeftActive: schedule.StatusCanceledByReconciliation, schedule.Unroutable: schedule.StatusCanceledByReconciliation, schedule.Withdrawn: schedule.StatusCanceledByReconciliation,
		schedule.Vanished: schedule.StatusCanceledByReconciliation, schedule.LostClaim: schedule.StatusCanceledByReconciliation,

		schedule.OverIssue: schedule.StatusInterrupted, schedule.OverTick: schedule.StatusInterrupted, schedule.OverDay: schedule.StatusInterrupted,
		schedule.Interrupted: schedule.StatusInterrupted, schedule.DeadlineReached: schedule.StatusInterrupted, "": schedule.StatusInterrupted,
	} {
		if got := cause.Status(); got != want {
			t.Errorf("%q ends as %s, want %s", cause, got, want)
		}
	}
}
