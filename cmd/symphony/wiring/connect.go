package wiring

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"syscall"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/runner/publish"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/file"
	"github.com/symphony-runner/symphony/tracker/github"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/tracker/linear"
	"github.com/symphony-runner/symphony/workspace"
)

// Trackers returns the kinds of tracker that this build has.
func Trackers() []tracker.Kind {
	return []tracker.Kind{file.Kind(), github.Kind(), linear.Kind()}
}

// Opener opens the tracker, the repository and the channel to people of a workflow.
type Opener struct {
	GitHub
	State    StatePlace
	Redactor *redact.Redactor
	Apps     *[]App          // apps opened so far
	Content  *transport.Pace // pace of posts on GitHub; nil gives each client its own
}

// Tracker opens the tracker that a workflow names, without a request.
func (o Opener) Tracker(wf workflow.Workflow, log *slog.Logger, startsNothing bool) (tracker.Adapter, error) {
	o.AddWorkflowSecrets(wf)
	s := wf.Settings
	options := tracker.Options{
		ActiveStates: s.Policy.ActiveStates, TerminalStates: s.Policy.TerminalStates,
		RequiredLabels: s.Policy.RequiredLabels, Poll: s.Poll, Workspaces: s.Workspace.Root,
		StartsNothing: startsNothing, Content: o.Content, StateBranch: o.State.BranchName(),
	}
	if s.Repository != nil {
		options.BranchPrefix = s.Repository.BranchPrefix
		if s.Delivery.Kind != workflow.KindNone {
			options.HandOver = s.Delivery.HandOver.State
		}
	}
	if o.Actions.InActions() {
		options.Checkout = o.Value("GITHUB_WORKSPACE")
	}
	return s.Tracker.Config.Open(options, http.DefaultClient, log)
}

// Connect opens the tracker, the workspaces or the worker hosts, and the repository that a
// workflow names. A dry run has only the tracker: it must not make a folder.
func (o Opener) Connect(ctx context.Context, wf workflow.Workflow, log *slog.Logger, dryRun bool) (runner.Connection, error) {
	adapter, err := o.Tracker(wf, log, dryRun)
	if err != nil {
		return runner.Connection{}, err
	}
	env, folders := o.ChildEnv(wf), WorkspaceConfig(wf)
	warnings := slices.Concat(MissingInHooks(env, wf.Settings), env.Missing("codex.env", wf.Settings.Codex.Env), env.Missing("setup.env", wf.Settings.Setup.Env))
	var workspaces *workspace.Root
	var hosts runner.Hosts
	onHosts := len(wf.Settings.Worker.Hosts) > 0
	if onHosts {
		hosts = o.Hosts(wf, log)
	}
	var repository *runner.Repository
	var publisher *publish.Publisher
	if dryRun {
		if !onHosts {
			err = workspace.Check(folders, env)
		}
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) { // this process only reads, and can go on
			warnings, err = append(warnings, err.Error()), nil
		}
		if err == nil && wf.Settings.Repository != nil {
			publisher, err = o.Publisher(wf, log)
		}
	} else if err = MakeDataFolder(wf.Path); err == nil {
		if repository, err = o.Repository(ctx, wf, log); err == nil && !onHosts {
			workspaces, err = workspace.Open(folders, env, log)
		}
	}
	if err != nil {
		return runner.Connection{}, err
	}
	if workspaces != nil {
		workspaces.Killed = o.Interrupts.Killed
	}
	if repository != nil {
		publisher = repository.Publisher
	}
	return runner.Connection{Tracker: adapter, Workspaces: workspaces, Hosts: hosts, Repository: repository, Feedback: o.channel(wf, adapter, publisher), Warnings: warnings}, nil
}

// MissingInHooks returns a warning for each variable of hooks.env that hooks will not see.
func MissingInHooks(env workspace.Env, s workflow.Settings) []string {
	if s.SandboxHooks {
		return env.MissingInSandbox(s.Workspace.Hooks.Env, s.Codex.Env)
	}
	return env.Missing("hooks.env", s.Workspace.Hooks.Env)
}

// WorkspaceConfig returns the workspaces of a workflow, with the hooks that run outside of
// the agent's sandbox.
func WorkspaceConfig(wf workflow.Workflow) workspace.Config {
	folders := wf.Settings.Workspace
	if cfg := wf.Settings.Tracker.Config; cfg != nil {
		folders.Project = cfg.IDScope(folders.Root)
	}
	if wf.Settings.Repository != nil {
		folders.Hooks.GuardGit = true
		if h := &folders.Hooks; wf.Settings.SandboxHooks {
			h.AfterCreate, h.BeforeRun, h.AfterRun = "", "", "" // sessions run them, in the agent's sandbox
		}
	}
	return folders
}

// channel returns the channel to the people of a workflow's issues and pull requests;
// nil if nobody can be reached.
func (o Opener) channel(wf workflow.Workflow, adapter tracker.Adapter, publisher *publish.Publisher) *feedback.Channel {
	d := &feedback.Channel{Issues: adapter.Conversation, Writer: adapter.Writer, Redact: o.Redactor.String, Where: CommentsOf(wf)}
	if publisher != nil && publisher.GitHub != nil {
		d.Pictures = github.Pictures(publisher.GitHub)
		// For half a polling interval, so that an answer never serves for longer than one.
		d.GitHub, d.Access = publisher.GitHub, client.NewAccess(publisher.GitHub, wf.Settings.Poll/2, tracker.IsMarked)
		if file := o.Actions.WorkflowFile(publisher.GitHub.Repo()); file != "" {
			d.OwnWorkflow = path.Base(file)
		}
	}
	if d.Issues == nil && d.GitHub == nil {
		return nil
	}
	return d
}

// CommentsOf returns the places of the comments that a run of a workflow reads; zero for
// a workflow that is not valid.
func CommentsOf(wf workflow.Workflow) schedule.Comments {
	c := schedule.Comments{Issues: schedule.OnTheIssue, Pulls: wf.Settings.Delivery.Kind == workflow.KindPullRequest}
	switch wf.Settings.Tracker.Config.(type) {
	case nil:
		return schedule.Comments{}
	case *github.Config:
		c.Issues = schedule.OnGitHub
	}
	if IssueFolder(wf) != "" {
		c.Issues = schedule.InTheFile
	}
	return c
}

// IssueFolder returns the folder in which the issues of a workflow are files; empty for a
// tracker that keeps none, and for a workflow that names no tracker.
func IssueFolder(wf workflow.Workflow) string {
	if cfg := wf.Settings.Tracker.Config; cfg != nil {
		return cfg.Folder()
	}
	return ""
}
