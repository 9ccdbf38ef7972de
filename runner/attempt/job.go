package attempt

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/room"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// Job holds the inputs of one attempt. As JSON it has the fields that another machine needs, and
// none that belongs to this one.
type Job struct {
	Issue       tracker.Issue
	Attempt     int               // SPEC §4.1.5: 0 in the first run
	Thread      string            // thread to resume; empty for a new one
	Sessions    int               // sessions on the issue so far, with this one; 0 if it is not known
	Spent       schedule.Usage    // tokens of earlier sessions on the issue
	Refused     string            // reasons why the work of the last session was not published, which the first prompt has; empty for none
	LeftOut     string            // files that could not be taken along with that work, which the first prompt has; empty for none
	Blocked     string            // hosts that commands of the last session were refused, which the first prompt has; empty for none
	Unsettled   bool              // the last session ended well, and the rest of its publication needs no agent; see [schedule.Claim]
	Feedback    []prompt.Feedback // comments and checks that nobody has answered, oldest first
	Prompt      string            // the template, SPEC §5.4
	PromptLine  int               // line of WORKFLOW.md on which it begins; 0 counts as 1
	MaxTurns    int               // turns of the session; positive
	Codex       codex.Config
	Policy      schedule.Policy // decides whether a session continues with the issue
	Tracker     tracker.Adapter `json:"-"`
	Workspaces  *workspace.Root `json:"-"`
	Host        string          // worker host on which the session runs; empty for this machine
	Account     Account         `json:"-"`
	SessionDir  string          `json:"-"` // folder for the files of sessions that belong to no workspace; empty for none
	Program     string          `json:"-"` // path of this program, see [codex.MakeBubblewrap]; empty if no command reaches hosts
	Denied      room.Denied     `json:"-"` // paths that the agent may not read, besides the files of this program
	Loopback    bool            // give the agent's commands a loopback of their own; see [codex.Options]
	Network     codex.Network   // hosts that the agent's commands reach; see [codex.Options]
	HookNetwork codex.Network   // hosts that hooks in the sandbox reach
	Services    []int           // ports of the machine that all commands reach; see [codex.Options]
	// UnixSockets lets the agent's commands open Unix sockets, if they have a loopback, and
	// denies them the sockets of this machine that can be found.
	UnixSockets bool
	// Lookup returns a variable of this program, by which the agent's commands find tools. nil
	// finds none.
	Lookup     func(name string) (value string, ok bool) `json:"-"`
	Repository *Repository                               // source and target of the work; nil leaves both to the hooks
	// CanAsk says that the agent can reach people: there are the tools reply and ask, and the
	// runner brings its questions to people.
	CanAsk bool
	// StopAt is the time at which the run stops its sessions; the zero time for never.
	StopAt   time.Time `json:"-"`
	Steering *Steering `json:"-"` // gives feedback to the session while it works; nil gives none
	// Reply answers an item of Feedback or Steering for the agent, by its ID, and closes its thread if
	// resolve is set. The text is as the agent wrote it. Its errors are shown to the agent.
	// nil if there are no items.
	Reply func(ctx context.Context, id, text string, resolve bool) error `json:"-"`
	// Images gives the model the pictures of the issue and the Feedback. PullPictures reads
	// the ones on the pull request; nil if nobody can.
	Images       bool
	PullPictures tracker.Pictures `json:"-"`
	Preflight    *PreflightOnce   `json:"-"` // shared by the sessions of a tick; nil checks nothing before the first turn
	// Test tries without an issue whether the cause of a failure lasts. It returns nil if it
	// is over, or was the issue itself. nil tests nothing.
	Test     func(context.Context, schedule.Cause) error `json:"-"`
	Own      *OwnChange                                  `json:"-"` // learns the session's changes to its issue; nil for nobody who asks
	Redact   func(string) string                         `json:"-"` // hides secrets in texts that leave the program; nil hides none
	EventLog *EventLog                                   `json:"-"` // event log of the session, which the caller ends; nil for none
	Version  string                                      // version of this program, which the agent is told
	Warn     func(string)                                `json:"-"` // gets the warnings of [Preflight] and [Prepare]; nil drops them
	Output   io.Writer                                   `json:"-"` // gets the output of setup.run in [Prepare]; nil drops it
	Log      *slog.Logger                                `json:"-"`

	stoppedTime time.Duration // replaces the constant in tests; 0 does not
}

// workspaceIssue returns the issue as package workspace knows it.
func (j *Job) workspaceIssue() workspace.Issue {
	return workspace.Issue{ID: string(j.Issue.ID), Identifier: j.Issue.Identifier, Attempt: j.Attempt}
}

func (j *Job) opensSockets() bool { return j.UnixSockets && j.Loopback && j.Codex.UsesProfile() }

// Update is a sign of life of the session.
type Update struct {
	schedule.Update
	At      time.Time
	Session string // thread and turn
	PID     int    // id of the agent's process; 0 before it was started
	// Status is the phase of the attempt, SPEC §7.2; empty when it has not changed.
	Status   schedule.AttemptStatus
	Event    string   // the kind of event, SPEC §10.4
	Summary  string   // the same in words, one short line
	Doing    string   // the latest message, command, tool or file, also in words
	Warnings []string // warnings for people, independent of the outcome of the session
}

// Merge returns the newer of u and old, completed with the fields that only the other one has.
// The order of the two does not matter.
func (u Update) Merge(old Update) Update {
	if old.At.After(u.At) {
		u, old = old, u
	}
	u.Alive = u.Alive || old.Alive
	u.Turn, u.Turns = cmp.Or(u.Turn, old.Turn), max(u.Turns, old.Turns)
	u.Usage = u.Usage.AtLeast(old.Usage)
	u.Thread, u.Session = cmp.Or(u.Thread, old.Thread), cmp.Or(u.Session, old.Session)
	u.PID, u.Status, u.Doing = cmp.Or(u.PID, old.PID), cmp.Or(u.Status, old.Status), cmp.Or(u.Doing, old.Doing)
	if u.RateLimits == nil {
		u.RateLimits = old.RateLimits
	}
	if len(old.Warnings) > 0 {
		u.Warnings = slices.Concat(old.Warnings, u.Warnings)
	}
	if u.Summary == "" {
		u.Event, u.Summary = old.Event, old.Summary
	}
	return u
}
