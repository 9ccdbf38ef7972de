package progress_test

import (
	"testing"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestThePhaseIsTheNameOfTheSpecificationInWords(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]progress.Session{
		"starting":                {},
		"preparing workspace":     {Status: schedule.StatusPreparingWorkspace},
		"building prompt":         {Status: schedule.StatusBuildingPrompt},
		"launching agent process": {Status: schedule.StatusLaunchingAgentProcess},
		"initializing session":    {Status: schedule.StatusInitializingSession},
		"streaming turn 1":        {Status: schedule.StatusStreamingTurn},
		"streaming turn 3":        {Status: schedule.StatusStreamingTurn, Claim: schedule.Claim{Turns: 3}},
		"finishing":               {Status: schedule.StatusFinishing},
		"stopping":                {Status: schedule.StatusStreamingTurn, Claim: schedule.Claim{Phase: schedule.Stopping}},
	} {
		if got := s.PhaseWords(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheQueueSaysWhatItsIssuesWaitFor(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]progress.Progress{
		"":                                         {NoRoom: schedule.Why{Reason: schedule.NoSlots}},
		"1 issue waits for a slot":                 {Queue: progress.Queue{Length: 1}, NoRoom: schedule.Why{Reason: schedule.NoSlots}},
		"2 issues wait for a slot":                 {Queue: progress.Queue{Length: 2}},
		"2 issues wait: 3 of 3 wait for review":    {Queue: progress.Queue{Length: 2, Limit: schedule.Why{Reason: schedule.OpenLimit, Detail: "3 of 3 wait for review"}}},
		"3 issues wait for the next tick":          {Queue: progress.Queue{Length: 3}, NoRoom: schedule.Why{Reason: schedule.BatchSpent}},
		"4 issues wait for the next run":           {Queue: progress.Queue{Length: 4}, NoRoom: schedule.Why{Reason: schedule.OutOfTime}},
		"5 issues wait for the end of the pause":   {Queue: progress.Queue{Length: 5}, NoRoom: schedule.Why{Reason: schedule.Paused}},
		"6 issues wait for the budget of tomorrow": {Queue: progress.Queue{Length: 6}, NoRoom: schedule.Why{Reason: schedule.DayBudget}},
		"7 issues wait until the trouble is fixed": {Queue: progress.Queue{Length: 7}, NoRoom: schedule.Why{Reason: schedule.OnHold}},
	} {
		if got := p.QueueWords(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestThePlaceOfAClaimIsShownInWords(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]schedule.Owner{
		"shard 3 of run 123": {Run: "123", Attempt: 1, Shard: 3}, "shard 3": {Host: "build-7", Shard: 3},
		"run 123": {Run: "123", Host: "vm", PID: 7}, "pid 7 on laptop": {Host: "laptop", PID: 7},
	} {
		if got := progress.Place(o); got != want {
			t.Errorf("%+v: %q, want %q", o, got, want)
		}
	}
}
