package schedule

import (
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// Action is what is to be done about an issue.
type Action string

// The verbs of a plan.
const (
	Dispatch Action = "dispatch" // claim it and start a session
	Observe  Action = "observe"  // take over what the tracker says
	Stop     Action = "stop"     // end its session
	Release  Action = "release"  // drop its claim
	Park     Action = "park"     // leave it to a person
)

// Decision is one step of a plan. [State.Apply] makes it true in the state; the
// runner then makes it true in the world.
type Decision struct {
	Action Action
	ID     tracker.ID
	Issue  tracker.Issue // what is known of it; zero for a Stop when nothing is
	Why    Why           // Stop, Release, Park
	Clean  bool          // Release: the issue is terminal, its workspace goes too
}

// leaseTime is how long a claim counts as alive when its owner cannot be asked.
const leaseTime = 10 * time.Minute

// Apply carries a decision into the state.
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
		s.countTime(now.Sub(c.Since), now) // Exit adds the time from here on
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

// Renew extends the leases of what this run works on, once half of one is
// gone, and reports whether any was extended.
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
