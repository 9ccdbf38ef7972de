package attempt

import (
	"log/slog"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// Job is one attempt to be made.
type Job struct {
	Issue      tracker.Issue
	Attempt    int    // SPEC §4.1.5: 0 in the first run
	Thread     string // to resume, empty for a new one
	Prompt     string // the template, SPEC §5.4
	MaxTurns   int    // of the session; positive
	Codex      codex.Config
	Policy     schedule.Policy // says whether a session goes on with the issue
	Tracker    tracker.Adapter
	Workspaces *workspace.Root
	Account    Account
	SessionDir string              // folder for what belongs to sessions and to no workspace; empty for none
	Denied     Denied              // what the agent may not read, besides what is ours
	Preflight  *PreflightOnce      // shared by the sessions of a tick; nil when nothing is to be found out
	Redact     func(string) string // hides secrets in what leaves the program; nil hides none
	EventLog   string              // absolute path of a file for the session's wire and events; empty for none
	Version    string              // of this program, as the agent is told
	Warn       func(string)        // told by [Preflight] what people should know; nil is nobody
	Log        *slog.Logger
}

// Update is a sign of life of the session.
type Update struct {
	schedule.Update
	At      time.Time
	Session string // thread and turn
	PID     int    // of the agent's process; 0 before it was started
	// Status is the phase of the attempt, SPEC §7.2; empty when it has not changed.
	Status  schedule.AttemptStatus
	Event   string // the kind of event, SPEC §10.4
	Summary string // the same in words, one short line
	// Warnings are what people should know of the session, whatever becomes of it.
	Warnings []string
}

// Merge is u with what only the update before it said. Which of the two is
// given as old does not matter.
func (u Update) Merge(old Update) Update {
	if old.At.After(u.At) {
		u, old = old, u
	}
	u.Alive = u.Alive || old.Alive
	if u.Turn == 0 {
		u.Turn = old.Turn
	}
	u.Turns = max(u.Turns, old.Turns)
	u.Usage.Input = max(u.Usage.Input, old.Usage.Input)
	u.Usage.Output = max(u.Usage.Output, old.Usage.Output)
	if u.Thread == "" {
		u.Thread = old.Thread
	}
	if u.RateLimits == nil {
		u.RateLimits = old.RateLimits
	}
	if u.Session == "" {
		u.Session = old.Session
	}
	if u.PID == 0 {
		u.PID = old.PID
	}
	if u.Status == "" {
		u.Status = old.Status
	}
	if len(old.Warnings) > 0 {
		u.Warnings = slices.Concat(old.Warnings, u.Warnings)
	}
	if u.Summary == "" {
		u.Event, u.Summary = old.Event, old.Summary
	}
	return u
}
