package attempt

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
)

// enter reports the phase that the attempt is in from now on. While a session is
// open its events report the phases, from another goroutine: see say.
func (a *attempt) enter(phase schedule.AttemptStatus) {
	if a.phase == phase {
		return
	}
	a.phase = phase
	a.report(Update{At: time.Now(), Status: phase, PID: a.pid})
}

// status returns how the attempt ended (SPEC §7.2).
func status(ctx context.Context, class schedule.Class, err error) schedule.AttemptStatus {
	switch class {
	case schedule.Done:
		return schedule.StatusSucceeded
	case schedule.Stopped:
		var cause schedule.Cause
		_ = errors.As(context.Cause(ctx), &cause) // any other cause is an interruption
		return cause.Status()
	}
	if isAny(err, codex.ErrTurnTimeout, codex.ErrResponseTimeout, workspace.ErrHookTimeout) {
		return schedule.StatusTimedOut
	}
	return schedule.StatusFailed
}

// logger returns the log with the session that the attempt is in, once there is one
// (SPEC §13.1). The events of an open session name their own: see say.
func (a *attempt) logger() *slog.Logger {
	log := a.Log
	if a.pid != 0 {
		log = log.With("session_id", a.lastSession, "pid", a.pid)
	}
	return log
}
