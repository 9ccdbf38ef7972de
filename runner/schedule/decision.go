package schedule

import (
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// Action names what a plan does about an issue.
type Action string

// The actions of a plan.
const (
	Dispatch Action = "dispatch" // claim it and start a session
	Observe  Action = "observe"  // store what the tracker says about it
	Stop     Action = "stop"     // end its session
	Release  Action = "release"  // delete its claim
	Park     Action = "park"     // keep the claim until a person acts
)

// Decision represents one step of a plan. [State.Apply] writes it into the state,
// then the runner performs it.
type Decision struct {
	Action Action
	ID     tracker.ID
	Issue  tracker.Issue // as last read; may be zero for a Stop
	Why    Why           // Stop, Release, Park
	Clean  bool          // Release: the issue is terminal, so its workspace is removed
}

// leaseTime bounds how long a claim counts as alive when its owner cannot be
// asked.
const leaseTime = 10 * time.Minute

// Apply writes a decision into the state.
func (s *State) Apply(d Decision, now time.Time) {
	c, claimed := s.Claims[d.ID]
	switch d.Action {
	case Dispatch:
		if !claimed {
			c = Claim{ID: d.ID}
		}
		c.observe(d.Issue)
		c.setPhase(Running, "", now)
		c.Owner, c.Lease = s.Self, now.Add(leaseTime)
		c.Sessions++
		s.Tick.Sessions++
		s.today(now).Sessions++
	case Observe:
		c.observe(d.Issue)
	case Stop:
		s.countTime(now.Sub(c.Since), now) // Exit adds the time after the stop
		if d.Issue.ID != "" {
			c.observe(d.Issue)
		}
		c.setPhase(Stopping, d.Why.String(), now)
		c.StopReason = d.Why.Reason
	case Park:
		c.observe(d.Issue)
		c.setPhase(Parked, d.Why.String(), now)
	case Release:
		delete(s.Claims, d.ID)
		return
	}
	s.Claims[d.ID] = c
}

// Renew extends the leases of this run's claims when less than half of one is
// left, and reports whether it extended any.
func (s *State) Renew(now time.Time) bool {
	renewed := false
	for id, c := range s.Claims {
		if c.holdsSlot() && c.Owner == s.Self && c.Lease.Sub(now) < leaseTime/2 {
			c.Lease = now.Add(leaseTime)
			s.Claims[id] = c
			renewed = true
		}
	}
	return renewed
}
