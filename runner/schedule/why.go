package schedule

import "strconv"

// Reason is why something was decided, or was not: a stable word for logs and
// reports.
type Reason string

// Why an issue is not started.
const (
	Incomplete      Reason = "incomplete"       // a field it needs is missing
	NotActive       Reason = "not_active"       // its state is neither active nor terminal
	Terminal        Reason = "terminal"         // its state is terminal
	NotRoutable     Reason = "not_routable"     // a required label is missing
	NotDispatchable Reason = "not_dispatchable" // the tracker's adapter says so
	Blocked         Reason = "blocked"          // another issue must be finished first
	NotVisible      Reason = "not_visible"      // the tracker no longer shows it
	NotKnown        Reason = "not_known"        // the tracker could not be asked
	Malformed       Reason = "malformed"        // the tracker's record cannot be understood
	InProgress      Reason = "running"          // a session works on it
	NotDue          Reason = "not_due"          // it waits for its time
	IsParked        Reason = "parked"           // it waits for a person
	NoSlots         Reason = "no_slots"         // every slot is taken
	NoStateSlots    Reason = "no_state_slots"   // every slot of its state is taken
	BatchSpent      Reason = "batch_spent"      // this tick has started enough
	TickBudget      Reason = "tick_budget"
	DayBudget       Reason = "day_budget"
	IssueBudget     Reason = "issue_budget"
	Paused          Reason = "paused"      // a failure that is everyone's
	OnHold          Reason = "on_hold"     // the workflow or the tracker cannot be read
	OutOfTime       Reason = "out_of_time" // the deadline is too near
	Changed         Reason = "changed"     // somebody changed the issue
)

// Why is a reason with the particulars. The zero value is "no objection".
type Why struct {
	Reason Reason
	Detail string // one line, for people
}

// None reports whether there is no objection.
func (w Why) None() bool { return w.Reason == "" }

func (w Why) String() string {
	if w.Detail == "" {
		return string(w.Reason)
	}
	return w.Detail
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
