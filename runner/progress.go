package runner

import (
	"cmp"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// Progress describes what a run is doing at one moment, for a live display (SPEC
// §13.3). It is a copy that does not change.
type Progress struct {
	Sessions []Session // sorted by identifier
	Retrying []schedule.Claim
	Parked   []schedule.Claim
	Spent    schedule.Spent // by this run
	Today    schedule.Day
	Limits   []byte // the agent's rate limits, as it sent them
	// Completed lists the issues of which a session ended normally in this run,
	// the latest last; see [schedule.State].
	Completed []tracker.ID
}

// Session describes a session in progress.
type Session struct {
	Claim   schedule.Claim
	ID      string // the thread and the turn
	PID     int    // process id of the agent; 0 before it was started
	Status  schedule.AttemptStatus
	Started time.Time
	Event   string // its last event
	Summary string // its last event in words
}

// Uncounted returns the time of the session that Progress.Today does not contain
// yet. The time of a session that is being stopped is counted up to the stop.
func (s Session) Uncounted(now time.Time) time.Duration {
	if s.Claim.Since.IsZero() {
		return 0 // another run has taken the claim
	}
	return now.Sub(s.Claim.Since)
}

// progress reports what is going on to the display, if there is one.
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
