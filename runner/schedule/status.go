package schedule

// AttemptStatus is where a run attempt is, or how it ended (SPEC §7.2). It is for
// people and scripts alone: what becomes of an issue follows from the [Class] of
// the outcome and the [Cause] of a stop.
type AttemptStatus string

// The phases of an attempt, in their order. Hooks that run before a session
// belong to the phase of what they prepare, after_run to the last.
const (
	StatusPreparingWorkspace    AttemptStatus = "PreparingWorkspace"
	StatusBuildingPrompt        AttemptStatus = "BuildingPrompt"
	StatusLaunchingAgentProcess AttemptStatus = "LaunchingAgentProcess"
	StatusInitializingSession   AttemptStatus = "InitializingSession"
	StatusStreamingTurn         AttemptStatus = "StreamingTurn"
	StatusFinishing             AttemptStatus = "Finishing"
)

// The statuses in which an attempt ends. The last one is our own: a run that ends
// by a signal, a deadline or a budget stops an attempt that neither failed nor was
// canceled, and the next run goes on with it.
const (
	StatusSucceeded                AttemptStatus = "Succeeded"
	StatusFailed                   AttemptStatus = "Failed"
	StatusTimedOut                 AttemptStatus = "TimedOut"
	StatusStalled                  AttemptStatus = "Stalled"
	StatusCanceledByReconciliation AttemptStatus = "CanceledByReconciliation"
	StatusInterrupted              AttemptStatus = "Interrupted"
)

// Status returns how an attempt ends that is stopped for the cause.
func (c Cause) Status() AttemptStatus {
	switch {
	case c == Stalled:
		return StatusStalled
	case c.drops():
		return StatusCanceledByReconciliation
	}
	return StatusInterrupted
}
