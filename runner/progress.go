package runner

import (
	"cmp"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// Progress is what a run is doing at one moment, for a live display
// (SPEC §13.3). It is a copy: nothing in it changes.
type Progress struct {
	Sessions []Session // by identifier
	Retrying []schedule.Claim
	Parked   []schedule.Claim
	Spent    schedule.Spent // by this run
	Today    schedule.Day
	Limits   []byte // the agent's rate limits, as it sent them
	// Completed are the issues of which a session came to a normal end in this run,
	// the latest last; see [schedule.State].
	Completed []tracker.ID
}

// Session is a session in progress.
type Session struct {
	Claim   schedule.Claim
	ID      string // thread and turn
	PID     int    // of its process; 0 before it was started
	Status  schedule.AttemptStatus
	Started time.Time
	Event   string // what it said last
	Summary string // the same in words
}

// Uncounted returns the time of the session that is not in Progress.Today yet. One
// that is being stopped is counted up to the stop.
func (s Session) Uncounted(now time.Time) time.Duration {
	if s.Claim.Since.IsZero() {
		return 0 // another run has taken the claim
	}
	return now.Sub(s.Claim.Since)
}

// progress tells the display, if there is one, what is going on.
func (l *loop) progress() {
	if l.Progress == nil {
		return
	}
	p := Progress{Spent: l.spent(), Today: l.state.SpentToday(time.Now()), Limits: l.state.RateLimits, Completed: l.state.Completed}
	for _, w := range l.workers {
		p.Sessions = append(p.Sessions, Session{
			Claim: l.state.Claims[w.id], ID: w.last.Session, PID: w.last.PID, Status: w.last.Status, Started: w.started, Event: w.last.Event, Summary: w.last.Summary,
		})
	}
	for _, c := range l.state.Claims {
		switch c.Phase {
		case schedule.Waiting:
			p.Retrying = append(p.Retrying, c)
		case schedule.Parked:
			p.Parked = append(p.Parked, c)
		}
	}
	byName := func(a, b schedule.Claim) int { return cmp.Compare(a.Identifier, b.Identifier) }
	slices.SortFunc(p.Sessions, func(a, b Session) int { return byName(a.Claim, b.Claim) })
	slices.SortFunc(p.Retrying, byName)
	slices.SortFunc(p.Parked, byName)
	l.Progress(p)
}
