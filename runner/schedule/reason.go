package schedule

import (
	"slices"
	"strings"
	"unicode"
)

// Reason is the reason for a decision, or for the lack of one: a stable word for logs and
// reports. As the reason of a stop it decides what happens to the claim; the text of an error
// never does.
type Reason string

// The reasons why an issue is not started, or why its claim was released or parked. A reason
// marked with † may also stop a session.
const (
	Incomplete      Reason = "incomplete"       // a required field is missing
	NotActive       Reason = "not_active"       // † its state is neither active nor terminal
	Terminal        Reason = "terminal"         // † its state is terminal
	NotRoutable     Reason = "not_routable"     // † a required label is missing
	NotDispatchable Reason = "not_dispatchable" // † the tracker's adapter does not offer it for work
	Blocked         Reason = "blocked"          // another issue must be finished first
	NotVisible      Reason = "not_visible"      // † the tracker no longer shows it
	NotKnown        Reason = "not_known"        // the tracker could not be asked
	Malformed       Reason = "malformed"        // the tracker's record cannot be understood
	InProgress      Reason = "running"          // a session works on it
	NotDue          Reason = "not_due"          // its retry is not due yet
	IsParked        Reason = "parked"           // it waits for a person
	NoSlots         Reason = "no_slots"         // every slot is taken
	NoStateSlots    Reason = "no_state_slots"   // every slot of its state is taken
	NoHostSlots     Reason = "no_host_slots"    // every slot of the worker hosts is taken
	HostsDown       Reason = "hosts_down"       // every worker host has failed and is left alone for a time
	OpenLimit       Reason = "open_limit"       // as many pull requests wait for people as delivery.max_open allows
	BatchSpent      Reason = "batch_spent"      // this tick has started its maximum of sessions
	TickBudget      Reason = "tick_budget"      // † a budget of the tick is spent
	DayBudget       Reason = "day_budget"       // † a budget of the day is spent
	Unpriced        Reason = "unpriced"         // † the dollars of the day are not known, and a budget is in dollars
	IssueBudget     Reason = "issue_budget"     // † a budget of the issue is spent
	Paused          Reason = "paused"           // a systemic failure keeps sessions from starting
	OnHold          Reason = "on_hold"          // the workflow or the tracker cannot be read
	OutOfTime       Reason = "out_of_time"      // the deadline is too near
	CommandOnly     Reason = "command_only"     // the run carries out a command and starts nothing
	NextPlan        Reason = "next_plan"        // the run collects the results of a fleet, and starts nothing
	Changed         Reason = "changed"          // somebody changed the issue
	Unanswered      Reason = "unanswered"       // people or checks said something about it
	RoundsSpent     Reason = "rounds_spent"     // feedback.max_rounds or feedback.max_check_rounds is spent
	Commanded       Reason = "command"          // † a person wrote a command to the program
	Merged          Reason = "merged"           // † its pull request was merged
	Closed          Reason = "closed"           // † its pull request was closed without a merge
	Reopened        Reason = "reopened"         // its pull request was opened again
)

// Further reasons that stop a session: the end of a run and the loss of a claim. Interrupted also
// keeps sessions from starting. [Reason.Stops] lists them with the marked ones above.
const (
	Interrupted     Reason = "interrupted" // the run received a signal, or failed
	Stalled         Reason = "stalled"     // silent for longer than codex.stall_timeout_ms
	DeadlineReached Reason = "deadline"    // the run has no time left
	ClaimLost       Reason = "claim_lost"  // another run holds the claim
)

// Stops reports whether a session is stopped for the reason.
func (r Reason) Stops() bool {
	return r.releases() || slices.Contains([]Reason{Stalled, IssueBudget, TickBudget, DayBudget, Unpriced, Interrupted, DeadlineReached, Merged, Closed, Commanded}, r)
}

// releases reports whether a session that is stopped for the reason leaves no
// claim behind.
func (r Reason) releases() bool {
	return slices.Contains([]Reason{Terminal, NotActive, NotRoutable, NotDispatchable, NotVisible, ClaimLost}, r)
}

// lacksRoom reports whether an issue that is not started for the reason lacks nothing but room:
// a slot, a pull request that is merged or closed, a budget, time, or the end of a general hold.
func (r Reason) lacksRoom() bool {
	return slices.Contains([]Reason{
		NoSlots, NoStateSlots, NoHostSlots, HostsDown, OpenLimit, BatchSpent, TickBudget, DayBudget, Unpriced,
		Paused, OnHold, OutOfTime, CommandOnly, NextPlan, Interrupted,
	}, r)
}

// parks reports whether a session that is stopped for the reason leaves a claim that
// waits for a person, however it ends.
func (r Reason) parks() bool { return r == Commanded || r == Closed }

// StopError is the cancellation cause of the context of a session that is stopped
// before it ends by itself. Its value is the reason of the stop.
type StopError Reason

// ErrInterrupted is the error of a run that was ended by a signal.
const ErrInterrupted = StopError(Interrupted)

func (e StopError) Error() string { return "stopped: " + string(e) }

// Why holds a reason and its details. The zero value means that there is no
// objection.
type Why struct {
	Reason Reason `json:"reason,omitempty" bound:"word"`
	Detail string `json:"detail,omitempty" bound:"shown=4000"` // one line, for people
}

// None reports whether there is no objection.
func (w Why) None() bool { return w.Reason == "" }

func (w Why) String() string {
	if w.Detail == "" {
		return string(w.Reason)
	}
	return w.Detail
}

// AttemptStatus names the phase of a run attempt, or its end (SPEC §7.2). It informs people and
// scripts only: the [Class] of the outcome and the [Reason] of a stop decide about the issue.
type AttemptStatus string

// The phases of an attempt, in their order. Hooks that run before a session belong to the phase
// that they prepare; after_run belongs to the last phase.
const (
	StatusPreparingWorkspace    AttemptStatus = "PreparingWorkspace"
	StatusBuildingPrompt        AttemptStatus = "BuildingPrompt"
	StatusLaunchingAgentProcess AttemptStatus = "LaunchingAgentProcess"
	StatusInitializingSession   AttemptStatus = "InitializingSession"
	StatusStreamingTurn         AttemptStatus = "StreamingTurn"
	StatusFinishing             AttemptStatus = "Finishing"
)

// The statuses in which an attempt ends. The specification does not have the last
// one: a run that ends by a signal, a deadline or a budget stops an attempt that
// neither failed nor was canceled, and the next run continues it.
const (
	StatusSucceeded                AttemptStatus = "Succeeded"
	StatusFailed                   AttemptStatus = "Failed"
	StatusTimedOut                 AttemptStatus = "TimedOut"
	StatusStalled                  AttemptStatus = "Stalled"
	StatusCanceledByReconciliation AttemptStatus = "CanceledByReconciliation"
	StatusInterrupted              AttemptStatus = "Interrupted"
)

// Words returns the name in lower-case words, as people read it.
func (s AttemptStatus) Words() string {
	var b strings.Builder
	for i, r := range string(s) {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Status returns the status of an attempt that was stopped for the reason.
func (r Reason) Status() AttemptStatus {
	switch {
	case r == Stalled:
		return StatusStalled
	case r.releases(), r == Commanded, r == Merged, r == Closed:
		return StatusCanceledByReconciliation
	}
	return StatusInterrupted
}
