package schedule

import "time"

// Wake is the next instant after now at which time alone may change the plan:
// a wait that ends, a session that falls silent for too long, a pause or a
// day's budget that is over. ok is false when there is none.
func (s *State) Wake(p Policy, now time.Time) (at time.Time, ok bool) {
	sooner := func(t time.Time) {
		if t.After(now) && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	for _, c := range s.Claims {
		switch {
		case c.Phase == Waiting:
			sooner(c.Due)
		case c.Owner == s.Self && c.watched(p):
			// One tick of the clock later: a session is silent for too long
			// only when more than the timeout has passed.
			sooner(c.silentSince().Add(p.Stall + time.Nanosecond))
		}
	}
	if s.Pause.Why != "" {
		sooner(s.Pause.Until)
	}
	if s.spentBudget(p.Budget, now).Reason == DayBudget {
		sooner(nextDay(now))
	}
	return at, ok
}
