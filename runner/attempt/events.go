package attempt

import (
	"log/slog"
	"strconv"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// enter reports the phase that the attempt enters. While a session is open, onEvent
// reports phases as well, from another goroutine.
func (a *attempt) enter(phase schedule.AttemptStatus) {
	a.reporting.Lock()
	defer a.reporting.Unlock()
	if a.phase == phase {
		return
	}
	a.phase = phase
	a.report(Update{At: time.Now(), Status: phase, PID: a.pid})
}

// onEvent handles every event of the session, one at a time and never after the
// session was closed. It reports the event as a sign of life, and logs the events
// that an operator looks for.
func (a *attempt) onEvent(e codex.Event) {
	e.Summary, e.Doing = a.Redact(e.Summary), a.Redact(e.Doing)
	u := Update{
		Update: schedule.Update{Alive: e.Progress, RateLimits: e.RateLimits},
		At:     e.Time, Session: e.Session, PID: e.PID, Doing: e.Doing,
	}
	if e.Summary != e.Method { // a bare method says nothing to people
		u.Event, u.Summary = string(e.Kind), e.Summary
	}
	if e.Usage != nil {
		u.Usage = usage(*e.Usage)
	}
	if e.Turn != "" { // a thread can be resumed once a turn has started on it
		if e.Turn != a.turnID {
			a.turnID = e.Turn
			a.turns++
		}
		a.thread = e.Thread
		u.Thread, u.Turns = a.thread, a.turns
	}
	if e.Kind == codex.Warning {
		u.Warnings = []string{e.Summary}
	}
	if e.Said != "" {
		a.said = e.Said
	}
	a.blocked.add(e.Blocked, a.Redact)
	a.reporting.Lock()
	switch e.Kind {
	case codex.SessionStarted:
		a.phase = schedule.StatusStreamingTurn
		u.Status, u.Turn = a.phase, schedule.TurnBegan
	case codex.TurnCompleted, codex.TurnInputRequired, codex.TurnFailed, codex.TurnCancelled, codex.TurnEndedWithError:
		u.Turn = schedule.TurnEnded
	}
	a.report(u)
	a.reporting.Unlock()

	of := []any{"session_id", e.Session, "pid", e.PID, "event", e.Kind}
	switch e.Kind {
	case codex.SessionStarted:
		a.Log.Info("turn "+strconv.Itoa(a.turns)+" started", append(of, "turn", a.turns, "resumed", a.Thread == e.Thread)...)
	case codex.UnsupportedToolCall, codex.Warning:
		a.Log.Warn(e.Summary, of...)
	case codex.Notification, codex.OtherMessage:
	default: // the outcome says how a turn ended, so debug is enough
		a.Log.Debug(e.Summary, of...)
	}
}

// logger returns the log with the session of the attempt once there is one (SPEC
// §13.1). Events of an open session carry their own session: see onEvent.
func (a *attempt) logger() *slog.Logger {
	log := a.Log
	if a.pid != 0 {
		log = log.With("session_id", a.lastSession, "pid", a.pid)
	}
	return log
}

// warn logs a failure that does not change the outcome, and reports it with it.
func (a *attempt) warn(what string, err error) {
	a.logger().Warn(what, "error", err)
	a.warnings = append(a.warnings, a.brief(what+": "+err.Error()))
}
