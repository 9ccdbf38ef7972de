package attempt

import (
	"strconv"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// progress reports the phases of an attempt, and the signs of life of its session.
type progress struct {
	*journal
	report  func(Update)
	resumes string // the thread that the session is to resume; empty for none

	reporting sync.Mutex // held while report is called; guards phase
	phase     schedule.AttemptStatus

	turnID  string       // id of the latest turn, from the session's events; empty before the first
	turns   int          // turns that have begun
	thread  string       // thread of the latest turn; empty until a turn has started
	said    string       // the latest message of the agent
	blocked blockedHosts // hosts that commands of the agent were refused
}

// enter reports the phase that the attempt enters. While a session is open, onEvent
// reports phases as well, from another goroutine.
func (p *progress) enter(phase schedule.AttemptStatus) {
	p.reporting.Lock()
	defer p.reporting.Unlock()
	if p.phase == phase {
		return
	}
	p.phase = phase
	p.report(Update{At: time.Now(), Status: phase, PID: p.pid})
}

// onEvent handles every event of the session, one at a time and never after the
// session was closed. It reports the event as a sign of life, and logs the events
// that an operator looks for.
func (p *progress) onEvent(e codex.Event) {
	e.Summary, e.Doing = p.redact(e.Summary), p.redact(e.Doing)
	u := Update{
		Update: schedule.Update{Alive: e.Progress, RateLimits: e.RateLimits, Usage: usage(e.Tariffs)},
		At:     e.Time, Session: e.Session, PID: e.PID, Doing: e.Doing,
	}
	if e.Summary != e.Method { // a bare method says nothing to people
		u.Event, u.Summary = string(e.Kind), e.Summary
	}
	if e.Turn != "" { // a thread can be resumed once a turn has started on it
		if e.Turn != p.turnID {
			p.turnID = e.Turn
			p.turns++
		}
		p.thread = e.Thread
		u.Thread, u.Turns = p.thread, p.turns
	}
	if e.Kind == codex.Warning {
		u.Warnings = []string{e.Summary}
	}
	if e.Said != "" {
		p.said = e.Said
	}
	p.blocked.add(e.Blocked, p.redact)
	p.reporting.Lock()
	switch e.Kind {
	case codex.SessionStarted:
		p.phase = schedule.StatusStreamingTurn
		u.Status, u.Turn = p.phase, schedule.TurnBegan
	case codex.TurnCompleted, codex.TurnInputRequired, codex.TurnFailed, codex.TurnCancelled, codex.TurnEndedWithError:
		u.Turn = schedule.TurnEnded
	}
	p.report(u)
	p.reporting.Unlock()

	of := []any{"session_id", e.Session, "pid", e.PID, "event", e.Kind}
	switch e.Kind {
	case codex.SessionStarted:
		p.log.Info("turn "+strconv.Itoa(p.turns)+" started", append(of, "turn", p.turns, "resumed", p.resumes == e.Thread)...)
	case codex.UnsupportedToolCall, codex.Warning:
		p.log.Warn(e.Summary, of...)
	case codex.Notification, codex.OtherMessage:
	default: // debug is enough: the outcome covers the end of a turn
		p.log.Debug(e.Summary, of...)
	}
}
