package runner

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/publish"
	"github.com/symphony-runner/symphony/runner/room"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// Store keeps the state between runs. Save writes nothing and fails with
// [store.ErrConflict] if the stored state is newer than rev.
type Store interface {
	Load(ctx context.Context) (*schedule.State, store.Revision, error)
	Save(ctx context.Context, s *schedule.State, rev store.Revision) (store.Revision, error)
}

// Workflows returns the workflow in force: the last good one, with an error while
// the file is invalid.
type Workflows interface {
	Current() (workflow.Workflow, error)
	// Changed reports whether Current would read another file than the last time. It costs
	// next to nothing, and is called every second.
	Changed() bool
}

// Connection holds the things outside of the program that a workflow names: its tracker, its
// workspaces and its repository.
type Connection struct {
	Tracker    tracker.Adapter
	Workspaces *workspace.Root   // nil with Hosts
	Hosts      Hosts             // worker hosts of the workflow; nil if sessions run on this machine
	Repository *Repository       // nil leaves files and work to the hooks
	Feedback   *feedback.Channel // reaches the people of issues and pull requests; nil if nobody can be reached
	Warnings   []string          // suspicious settings, one sentence each; the tracker has its own
}

// OwnerAnswer is the knowledge of the owner of a claim.
type OwnerAnswer struct {
	Status schedule.OwnerStatus
	Job    string // id of its job at the provider; empty if it is not known
	// Unnamed says that jobs of the owner's attempt of the workflow run ended, but none
	// of them has the title of a shard, so it is not known which one was the owner's.
	Unnamed bool
}

// Runner performs ticks. Its fields are set once, before Run or Plan.
type Runner struct {
	Workflows Workflows
	// Connect opens the tracker and the workspaces of a workflow. It is called again only when
	// the settings change.
	Connect func(context.Context, workflow.Workflow) (Connection, error)
	Store   Store
	// RunSession runs one session on this machine to its end: attempt.Run.
	RunSession func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome
	// OwnerStatuses returns the statuses of other owners of claims. An owner that it leaves out
	// is unknown. It returns when ctx is done.
	OwnerStatuses func(context.Context, []schedule.Owner) map[schedule.Owner]OwnerAnswer
	Self          schedule.Owner
	// LeftResults reads the results of the shards of an owner's fleet that ended without
	// collecting them. Nil if they cannot be read.
	LeftResults func(context.Context, schedule.Owner) ([]fleet.Result, error)

	Account attempt.Account // login of sessions
	// Login returns everything that sessions log in with, to detect changes. A
	// digest of it is stored where others may read it, so it must not contain a
	// secret that can be guessed. May be nil.
	Login func(codex.Config) []string
	// Test tries without an issue whether a cause of systemic failures lasts, with the
	// settings of a workflow. It returns nil if it does not. Several goroutines may call it,
	// one after the other. nil tests nothing.
	Test       func(context.Context, workflow.Workflow, schedule.Cause) error
	SessionDir string      // folder for files of sessions that belong to no workspace; empty for none
	Program    string      // path of this program, see [codex.MakeBubblewrap]
	Denied     room.Denied // paths that agents may not read, besides the runner's own files
	// Lookup returns a variable of this program, by which the agents' commands find tools.
	Lookup func(name string) (value string, ok bool)

	Redact func(string) string // hides secrets in the output of the program; nil hides none

	// Order returns the command that this run was started with and its issue, which must be in
	// the state; the zero value for a command that changes nothing. If it fails, the run ends
	// before anything is done. It is nil for a run without a command.
	Order func(*schedule.State) (tracker.ID, schedule.Order, error)

	Web http.RoundTripper // sends notices; nil is the default of package http

	OrderOnly bool // the run carries out Order and starts no session

	Once        bool          // one tick, then return
	MaxIssues   int           // sessions started in a tick at most; 0 leaves it to the workflow
	Deadline    time.Duration // the tick ends before this much time has passed; 0 is never
	Logs        string        // absolute path of a folder for whole event logs, and for work that is not published; empty for none
	Transcripts string        // absolute path of the folder where event logs are kept without Logs, within limits; empty for none
	Pages       bool          // each event log below Logs has a page for people beside it
	Version     string        // version of this program, which agents are told
	Log         *slog.Logger
	Progress    func(progress.Progress) // called soon after every change; may be nil, must be quick
	OnSession   OnSession               // called before every session; may be nil, must be quick
	Refresh     <-chan struct{}         // requests of the status page for a poll at once; nil without one
	Requests    <-chan progress.Request // commands of the status page on issues; nil without one
	// Killed is closed to end a run that ctx has ended already without waiting for the sessions
	// and tasks that it has stopped. Nil if nobody can ask for it.
	Killed <-chan struct{}

	// Fleet and Shards make the run a part of a fleet; at most one is set. See the
	// documentation of the package.
	Fleet  *schedule.Fleet // fleet that a plan is made for; nil for other runs
	Shards int             // number of shards of the fleet in which the run is one; 0 for other runs
}

// Repository names the source of the files of sessions and the target of their work.
type Repository struct {
	Host      *git.Host
	Remote    git.Remote
	Source    git.Source         // branches and folders to fetch, once in a tick
	User      git.Person         // author and committer of the agents' commits
	Publisher *publish.Publisher // nil leaves the work in the workspaces
	// Closing returns the line of a commit and a pull request that closes an issue when
	// they are merged; empty for none.
	Closing func(tracker.Issue) string
	// Preparations keeps the packs of the project; used if WORKFLOW.md has a setup.
	Preparations *attempt.Preparations
	Kept         string // absolute path of the folder for work that was refused; used if there is no folder for logs
}

// OnSession is called before each session, and the function that it returns is called after
// the session, both by the goroutine of the run.
type OnSession func(SessionStart) (onEnd func(SessionLog))
