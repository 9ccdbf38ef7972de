package schedule

import (
	"fmt"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// room is the room for sessions that a plan has: slots, sessions of the tick, and budgets.
type room struct {
	p     Policy
	state *State
	hosts hostSlots

	hold       Why            // reason why nothing at all may be started; zero for none
	limit      int            // sessions at once, of those that count
	probing    bool           // a single session checks whether the pause is over
	running    int            // running sessions
	underLimit int            // running sessions that count against MaxConcurrent
	perState   map[string]int // slots taken by state
	left       int            // sessions that may still start in this tick
}

// newRoom returns the room before any session is counted. hold is a reason for starting nothing at all;
// resumed says that a person has ended the pause.
func newRoom(s *State, hold Why, p Policy, now time.Time, resumed bool) *room {
	r := &room{
		p: p, state: s, hold: hold, limit: p.MaxConcurrent, left: p.PerTick() - s.Tick.Sessions, perState: map[string]int{},
		hosts: hostSlots{names: p.Hosts, each: p.PerHost, failed: s.Hosts, now: now, loads: map[string]hostLoad{}},
	}
	paused := s.Pause.Why != ""
	switch {
	case !hold.None():
	case s.Tick.Paused:
		r.hold = Why{Paused, s.Pause.Why}
	case paused && now.Before(s.Pause.Until) && !resumed:
		r.hold = Why{Paused, fmt.Sprintf("paused until %s: %s", s.Pause.Until.UTC().Format(time.RFC3339), s.Pause.Why)}
	default:
		if paused {
			r.limit, r.probing = min(r.limit, 1), true
		}
		r.hold = s.SpentBudget(p.Budget, now)
	}
	return r
}

// none returns the reason for starting no issue now; zero for none.
func (r *room) none() Why {
	switch {
	case !r.hold.None():
		return r.hold
	case r.running >= r.limit && r.probing:
		return Why{Paused, "one session checks first whether this is fixed: " + r.state.Pause.Why}
	case r.underLimit >= r.limit:
		return Why{NoSlots, "no available orchestrator slots"}
	case r.left <= 0:
		return Why{BatchSpent, fmt.Sprintf("this tick has started its %d sessions", r.p.PerTick())}
	}
	return r.hosts.none()
}

// noneFor returns the reason for not starting an eligible issue now; zero for none.
func (r *room) noneFor(issue *tracker.Issue) Why {
	if why := r.none(); !why.None() {
		return why
	}
	state := tracker.NormalState(issue.State)
	if limit, limited := r.p.MaxPerState[state]; limited && r.perState[state] >= limit {
		return Why{NoStateSlots, fmt.Sprintf("all %d slots of state %q are taken", limit, issue.State)}
	}
	return Why{}
}

// occupy counts the session of a claim, whose issue is in a state. On its host it began at a time.
func (r *room) occupy(c Claim, state string, began time.Time) {
	isShard := c.Owner.Shard > 0
	r.add(state, c.Owner == r.state.Self || !isShard && !r.p.OfFleet || isShard && r.p.OfFleet && r.state.Reserves[c.Owner].Fleet == r.p.Fleet)
	r.hosts.add(c.Host, began)
}

// add adds a session. counts tells whether it counts against the limit.
func (r *room) add(state string, counts bool) {
	r.running++
	if counts {
		r.underLimit++
	}
	r.perState[tracker.NormalState(state)]++
}

// start adds a session that starts on an issue in a state, and returns its worker host. The last
// session on the issue was on the host lastHost.
func (r *room) start(state, lastHost string) string {
	host := r.hosts.choose(lastHost)
	r.add(state, true)
	r.hosts.add(host, r.hosts.now)
	r.left--
	return host
}

// NoRoom returns the reason for starting no issue at all; zero for none. If there is one,
// the tracker need not be asked for candidates. hold is as in [Snapshot].
func NoRoom(s *State, hold Why, p Policy, now time.Time) Why {
	r := newRoom(s, hold, p, now, false)
	for _, c := range s.Claims {
		if c.Phase.HasSession() {
			r.occupy(c, c.State, c.Since)
		}
	}
	return r.none()
}

// Wake returns the next instant after now at which time alone may change the
// plan: a retry falls due, a session becomes stalled, a pause or a day's budget
// ends. ok is false when there is no such instant.
func (s *State) Wake(p Policy, now time.Time) (at time.Time, ok bool) {
	sooner := func(t time.Time) {
		if t.After(now) && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	for _, c := range s.Claims {
		sooner(c.LostUntil)
		switch {
		case c.Phase == Waiting:
			sooner(c.Due)
		case c.Owner == s.Self && c.watched(p):
			// A nanosecond later: a session is stalled only when more than
			// the timeout has passed.
			sooner(c.silentSince().Add(p.Stall + time.Nanosecond))
		}
	}
	for _, until := range s.Failed {
		sooner(until)
	}
	for _, host := range p.Hosts {
		sooner(s.Hosts[host].Until)
	}
	if s.Pause.Why != "" {
		sooner(s.Pause.Until)
	}
	if s.SpentBudget(p.Budget, now).ofDay() {
		sooner(nextDay(now))
	}
	return at, ok
}

// NextRetry returns the time from which the next waiting issue may continue: its retry is
// due, no pause holds it, and the budget of the day is not spent. ok is false when none waits.
func (s *State) NextRetry(p Policy, now time.Time) (at time.Time, ok bool) {
	for _, c := range s.Claims {
		if c.Phase == Waiting && (!ok || c.Due.Before(at)) {
			at, ok = c.Due, true
		}
	}
	if ok && s.Pause.Why != "" {
		at = later(at, s.Pause.Until)
	}
	if down := s.Hosts.Down(p.Hosts, at); ok && len(down) > 0 && len(down) == len(p.Hosts) {
		at = slices.MinFunc(down, func(a, b DownHost) int { return a.Until.Compare(b.Until) }).Until
	}
	if ok && s.SpentBudget(p.Budget, now).ofDay() {
		at = later(at, nextDay(now))
	}
	return at, ok
}
