package schedule

// Cause is why a session was stopped before it ended by itself. It travels as
// the cause of the session's context, and decides what becomes of the claim:
// never the text of an error.
type Cause string

// The causes of a stop.
const (
	Stalled         Cause = "stalled"          // silent for longer than codex.stall_timeout_ms
	BecameDone      Cause = "terminal"         // the issue reached a terminal state
	LeftActive      Cause = "not_active"       // the issue left the active states
	Unroutable      Cause = "not_routable"     // a required label went
	Withdrawn       Cause = "not_dispatchable" // the adapter withdrew its consent
	Vanished        Cause = "not_visible"      // the tracker no longer shows the issue
	OverIssue       Cause = "issue_budget"     // budget.max_tokens_per_issue
	OverTick        Cause = "tick_budget"      // budget.max_tokens_per_tick
	OverDay         Cause = "day_budget"       // budget.max_tokens_per_day
	Interrupted     Cause = "interrupted"      // the run was told to stop
	DeadlineReached Cause = "deadline"         // the run's time is over
	LostClaim       Cause = "claim_lost"       // another run holds the claim
)

func (c Cause) Error() string { return "stopped: " + string(c) }

// drops reports whether a session stopped for this cause leaves no claim behind.
func (c Cause) drops() bool {
	switch c {
	case BecameDone, LeftActive, Unroutable, Withdrawn, Vanished, LostClaim:
		return true
	}
	return false
}
