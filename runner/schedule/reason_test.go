package schedule_test

import (
	"testing"

	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestTheCauseOfAStopSaysHowTheAttemptEnded(t *testing.T) {
	t.Parallel()
	for cause, want := range map[schedule.Reason]schedule.AttemptStatus{
		schedule.Stalled: schedule.StatusStalled,

		schedule.Terminal: schedule.StatusCanceledByReconciliation, schedule.NotActive: schedule.StatusCanceledByReconciliation, schedule.NotRoutable: schedule.StatusCanceledByReconciliation, schedule.NotDispatchable: schedule.StatusCanceledByReconciliation,
		schedule.NotVisible: schedule.StatusCanceledByReconciliation, schedule.ClaimLost: schedule.StatusCanceledByReconciliation,

		schedule.IssueBudget: schedule.StatusInterrupted, schedule.TickBudget: schedule.StatusInterrupted, schedule.DayBudget: schedule.StatusInterrupted,
		schedule.Interrupted: schedule.StatusInterrupted, schedule.DeadlineReached: schedule.StatusInterrupted, "": schedule.StatusInterrupted,
	} {
		if got := cause.Status(); got != want {
			t.Errorf("%q ends as %s, want %s", cause, got, want)
		}
	}
}
