package schedule

import (
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// Fault represents a failure that may be the workflow's and not the issue's, such as a failure
// of a hook or of the start of Codex. If two issues of a tick fail in the same way before any
// session has had a turn, the failure is systemic: nothing more starts, and no issue is charged
// for it. [State.Reclassify] finds that out at the end of a session, and [ShardEnds.Settle]
// from the results of shards, which do not know of each other.
type Fault struct {
	Kind    string `json:"kind" bound:"shown=4000"`          // see [Outcome.Fault]
	Why     string `json:"why,omitempty" bound:"shown=4000"` // reason of the outcome
	Before  Claim  `json:"-"`                                // claim before the failure was charged
	Excused bool   `json:"excused,omitempty"`                // the charge is taken back, or was not made
}

// PushFault begins the Fault of a session whose push the server has refused.
const PushFault = "push: "

// addFault adds a fault to the others of a tick. If other issues failed in the same way, it
// marks all of these faults as excused, and returns the reason why they are systemic and
// the other faults that were still charged.
func addFault(faults *[]Fault, f Fault) (systemic string, charged []Fault) {
	for i := range *faults {
		other := &(*faults)[i]
		if other.Kind != f.Kind || other.Before.ID == f.Before.ID {
			continue
		}
		if systemic == "" {
			systemic = "the first issues of the tick fail in the same way: " + other.Why
		}
		if !other.Excused {
			charged = append(charged, *other)
			other.Excused = true
		}
	}
	f.Excused = f.Excused || systemic != ""
	*faults = append(*faults, f)
	return systemic, charged
}

// Reclassify returns the outcome of a session in the light of the other faults of the tick. It
// is called once for each end of a session, before Exit. If the failure is systemic, it also
// returns the faults before it, whose charges [State.Excuse] must take back for the reason of
// the outcome. A failure that every session on a worker host shares is the host's.
func (s *State) Reclassify(id tracker.ID, o Outcome) (Outcome, []Fault) {
	if o.Turns > 0 {
		s.Tick.HadTurn = true
	}
	c, claimed := s.Claims[id]
	switch {
	case o.isOfHost(c):
		o.Class, o.Cause = HostLost, ""
		return o, nil
	case o.Fault == "" || o.Class != IssueFailed || !claimed:
		return o, nil
	case o.Cause == CauseDelivery:
		if s.isRefusedAgain(o.Fault) {
			o.Class, o.Why = Systemic, refusedAlike+o.Why
		}
		return o, nil
	case s.Tick.HadTurn || s.hasTurn():
		return o, nil
	}
	why, charged := addFault(&s.Faults, Fault{Kind: o.Fault, Why: o.Why, Before: c})
	if why == "" {
		return o, nil
	}
	o.Class, o.Why = Systemic, why
	return o, charged
}

// isRefusedAgain reports whether the server has refused a push in the same way before: a push
// for another issue, or by the last session on this one. Sessions have turns before they
// push, and each costs, so twice is enough.
func (s *State) isRefusedAgain(fault string) bool {
	for _, c := range s.Claims {
		if c.Fault == fault {
			return true
		}
	}
	return s.Pause.Why != "" && s.Pause.Fault == fault
}

// refusedAlike begins the reason of a pause after a second refusal.
const refusedAlike = "each push is refused in the same way: "

// hasTurn reports whether a session that runs has begun a turn, so that the steps of the
// workflow before a turn work.
func (s *State) hasTurn() bool {
	for _, c := range s.Claims {
		if c.Phase.HasSession() && c.Owner == s.Self && c.Turns > 0 {
			return true
		}
	}
	return false
}

// Excuse takes back the charge of a failure that turned out not to be the issue's,
// and reports whether it did. The claim is given as it was before the charge.
func (s *State) Excuse(before Claim, why string, now time.Time) bool {
	c, claimed := s.Claims[before.ID]
	if !claimed || c.Phase.HasSession() {
		return false // it is gone, or tried again already
	}
	if c.Phase == Parked {
		s.takeBackParked(c)
	}
	c.Attempt, c.Failures, c.Thread, c.Fault = before.Attempt, before.Failures, before.Thread, ""
	c.Course.Failed = before.Course.Failed
	c.setPhase(Waiting, why, now)
	c.Due = now
	s.Claims[before.ID] = c
	return true
}
