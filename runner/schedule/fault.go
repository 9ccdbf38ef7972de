package schedule

import (
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// Fault is a failure of this tick that may be the workflow's and not the issue's.
type Fault struct {
	Kind    string // see [Outcome.Fault]
	Why     string // of the outcome
	Before  Claim  // as it was before the failure was charged
	Excused bool   // the charge is taken back, or was not made
}

// Reclassify returns an outcome as it counts beside the others of the tick, and claims
// to [State.Excuse]. A hook that fails in the same way for the first two issues of
// a tick, before any session has had a turn, fails for the whole board: nothing
// more starts, and none of its issues is charged. It is called once for each end
// of a session, before Exit.
func (s *State) Reclassify(id tracker.ID, o Outcome) (Outcome, []Claim) {
	if o.Turns > 0 {
		s.Tick.HadTurn = true
	}
	c, claimed := s.Claims[id]
	if o.Fault == "" || o.Class != IssueFailed || !claimed || s.Tick.HadTurn || s.hasTurn() {
		return o, nil
	}
	var excused []Claim
	why := ""
	for i, f := range s.Faults {
		if f.Kind != o.Fault || f.Before.ID == id {
			continue
		}
		if why == "" {
			why = f.Why
		}
		if !f.Excused {
			excused = append(excused, f.Before)
			s.Faults[i].Excused = true
		}
	}
	s.Faults = append(s.Faults, Fault{o.Fault, o.Why, c, why != ""})
	if why == "" {
		return o, nil
	}
	o.Class, o.Why = Systemic, "the first issues of the tick fail in the same way: "+why
	return o, excused
}

// hasTurn reports whether a session that runs has begun a turn, so that what the
// workflow does before one works.
func (s *State) hasTurn() bool {
	for _, c := range s.Claims {
		if c.holdsSlot() && c.Owner == s.Self && c.Turns > 0 {
			return true
		}
	}
	return false
}

// Excuse takes back the charge of a failure that turned out not to be the issue's,
// and reports whether it did. The claim is given as it was before the charge.
func (s *State) Excuse(before Claim, why string, now time.Time) bool {
	c, claimed := s.Claims[before.ID]
	if !claimed || c.holdsSlot() {
		return false // it is gone, or tried again already
	}
	c.Attempt, c.Failures, c.Thread = before.Attempt, before.Failures, before.Thread
	c.setPhase(Waiting, why, now)
	c.Due = now
	s.Claims[before.ID] = c
	return true
}
