package attempt

import (
	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// onEvent is told of every event of the session, one at a time and never after the
// session was closed. It passes an event on as a sign of life, and logs those
// that an operator looks for.
func (a *attempt) onEvent(e codex.Event) {
	e.Summary = a.Redact(e.Summary)
	u := Update{
		Update: schedule.Update{Alive: e.Progress, RateLimits: e.RateLimits},
		At:     e.Time, Session: e.Session, PID: e.PID,
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
	switch e.Kind {
	case codex.SessionStarted:
		u.Status, u.Turn = schedule.StatusStreamingTurn, schedule.TurnBegan
	case codex.TurnCompleted, codex.TurnInputRequired, codex.TurnFailed, codex.TurnCancelled, codex.TurnEndedWithError:
		u.Turn = schedule.TurnEnded
	}
	a.report(u)

	log := a.Log.With("session_id", e.Session, "pid", e.PID, "event", e.Kind)
	switch e.Kind {
	case codex.SessionStarted:
		log.Info("turn started", "turn", a.turns, "resumed", a.Thread == e.Thread)
	case codex.UnsupportedToolCall, codex.Warning:
		log.Warn(e.Summary)
	case codex.Notification, codex.OtherMessage:
	default: // how a turn ended is in the outcome; the rest is for those who look closely
		log.Debug(e.Summary)
	}
}
