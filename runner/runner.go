package runner

import (
	"context"
	"log/slog"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// Store keeps the state between runs. A Save that meets a newer state than rev
// writes nothing and fails with [store.ErrConflict].
type Store interface {
	Load(ctx context.Context) (*schedule.State, store.Revision, error)
	Save(ctx context.Context, s *schedule.State, rev store.Revision) (store.Revision, error)
}

// Workflows gives the workflow in force: the last good one, with an error
// while the file is bad.
type Workflows interface {
	Current() (workflow.Workflow, error)
}

// Connection is the outside that a workflow names: its tracker and its workspaces.
type Connection struct {
	Tracker    tracker.Adapter
	Workspaces *workspace.Root
	Warnings   []string // what looks wrong with both, one sentence each; the tracker has its own
}

// Runner performs ticks. Its fields are set once, by cmd.
type Runner struct {
	Workflows Workflows
	// Connect opens the world of a workflow; again only when its settings change.
	Connect func(workflow.Workflow) (Connection, error)
	Store   Store
	// RunSession runs one session to its end: attempt.Run.
	RunSession func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome
	// OwnerStatus asks whether the owner of a claim that is not ours is alive. It returns
	// when ctx is done.
	OwnerStatus func(context.Context, schedule.Owner) schedule.OwnerStatus
	Self        schedule.Owner

	Account attempt.Account // how sessions log in
	// Login returns everything that sessions log in with, to see whether it has
	// changed. A digest of it is stored where others may read it, so it must hold
	// no secret that can be guessed. Nil is nothing.
	Login      func(codex.Config) []string
	SessionDir string         // folder for what belongs to sessions and to no workspace; empty for none
	Denied     attempt.Denied // what agents may not read, besides what is the runner's

	Redact func(string) string // hides secrets in what leaves the program; nil hides none

	Once         bool          // one tick, then return
	MaxIssues    int           // sessions started in a tick at most; 0 leaves it to the workflow
	Deadline     time.Duration // the tick is over before this much time is gone; 0 is never
	Logs         string        // absolute path of the folder for event logs; empty for none
	Version      string        // of this program, as agents are told
	Log          *slog.Logger
	Progress     func(Progress)   // told about every change; may be nil, must be quick
	OnSessionEnd func(SessionLog) // told about every session that ended; likewise
	Refresh      <-chan struct{}  // asks for a poll ahead of time; may be nil
}
