package main

import (
	"context"
	"log/slog"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/discussion"
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

// trackers returns the kinds of tracker that this build has. This is the only place
// that names adapters.
func trackers() []tracker.Kind {
	return []tracker.Kind{file.Kind(), github.Kind(), linear.Kind()}
}

// openTracker opens the tracker that a workflow names, without a request.
func (a *app) openTracker(wf workflow.Workflow, log *slog.Logger, startsNothing bool) (tracker.Adapter, error) {
	a.addWorkflowSecrets(wf)
	s := wf.Settings
	o := tracker.Options{
		ActiveStates: s.Policy.ActiveStates, TerminalStates: s.Policy.TerminalStates,
		RequiredLabels: s.Policy.RequiredLabels, Poll: s.Poll, Workspaces: s.Workspace.Root,
		StartsNothing: startsNothing, Content: a.content,
	}
	if s.Repository != nil {
		o.BranchPrefix = s.Repository.BranchPrefix
		if s.Delivery.Kind != workflow.KindNone {
			o.HandOver = s.Delivery.HandOver.State
		}
	}
	if name, isBranch := strings.CutPrefix(a.state, "branch:"); isBranch {
		o.StateBranch = name
	}
	if a.actions.InActions() {
		o.Checkout, _ = a.getenv("GITHUB_WORKSPACE")
	}
	return s.Tracker.Config.Open(o, http.DefaultClient, log)
}

// trackerRepository returns the repository whose issues a workflow works on; it is
// empty when its tracker is another one.
func trackerRepository(wf workflow.Workflow) string {
	if cfg, ok := wf.Settings.Tracker.Config.(*github.Config); ok {
		return cfg.Repo
	}
	return ""
}

// connect opens the tracker, the workspaces and the repository that a workflow names. A
// dry run has only the tracker: it must not make a folder.
func (a *app) connect(ctx context.Context, wf workflow.Workflow, log *slog.Logger, dryRun bool) (runner.Connection, error) {
	adapter, err := a.openTracker(wf, log, dryRun)
	if err != nil {
		return runner.Connection{}, err
	}
	env, folders := a.childEnv(wf), a.workspaceConfig(wf)
	warnings := slices.Concat(missingInHooks(env, wf.Settings), env.Missing("codex.env", wf.Settings.Codex.Env), env.Missing("setup.env", wf.Settings.Setup.Env))
	var workspaces *workspace.Root
	var repository *runner.Repository
	var publisher *publish.Publisher
	if dryRun {
		if err = workspace.Check(folders, env); mayNotWrite(err) {
			warnings, err = append(warnings, err.Error()), nil
		}
		if err == nil && wf.Settings.Repository != nil {
			publisher, err = a.publisher(wf, log)
		}
	} else if err = makeDataFolder(wf.Path); err == nil {
		if repository, err = a.openRepository(ctx, wf, log); err == nil {
			workspaces, err = workspace.Open(folders, env, log)
		}
	}
	if err != nil {
		return runner.Connection{}, err
	}
	if workspaces != nil {
		workspaces.Killed = a.interrupts.killed
	}
	if repository != nil {
		publisher = repository.Publisher
	}
	return runner.Connection{Tracker: adapter, Workspaces: workspaces, Repository: repository, Discussion: a.discussion(wf, adapter, publisher), Warnings: warnings}, nil
}

// missingInHooks returns a warning for each variable of hooks.env that hooks will not see.
func missingInHooks(env workspace.Env, s workflow.Settings) []string {
	if s.SandboxHooks {
		return env.MissingInSandbox(s.Workspace.Hooks.Env, s.Codex.Env)
	}
	return env.Missing("hooks.env", s.Workspace.Hooks.Env)
}

// childEnv returns the part of the environment that the children of a workflow may see.
func (a *app) childEnv(wf workflow.Workflow) workspace.Env {
	return workspace.Env{Parent: a.environ, Deny: slices.Concat(wf.Settings.SecretEnv(), keyNames)}
}

// workspaceConfig returns the workspaces of a workflow, with the hooks that run outside of
// the agent's sandbox.
func (a *app) workspaceConfig(wf workflow.Workflow) workspace.Config {
	folders := wf.Settings.Workspace
	folders.Project = projectOf(wf)
	if wf.Settings.Repository != nil {
		folders.Hooks.GuardGit = true
		if h := &folders.Hooks; wf.Settings.SandboxHooks {
			h.AfterCreate, h.BeforeRun, h.AfterRun = "", "", "" // sessions run them, in the agent's sandbox
		}
	}
	return folders
}

// projectOf returns a name for what the issues of a workflow are read from, unless their ids
// are unique everywhere; see [workspace.Config]. The name of a folder depends on where the
// workspaces are, so that a project can be moved with them.
func projectOf(wf workflow.Workflow) string {
	switch cfg := wf.Settings.Tracker.Config.(type) {
	case *github.Config:
		return "the project of the GitHub repository " + strings.ToLower(cfg.Repo)
	case *file.Config:
		folder, err := filepath.Rel(wf.Settings.Workspace.Root, cfg.Path)
		if err != nil {
			folder = cfg.Path
		}
		return "the project whose issues are in " + folder + ", seen from workspace.root"
	}
	return ""
}

// discussion returns the discussion with the people of a workflow's issues and pull requests;
// nil if nobody can be reached.
func (a *app) discussion(wf workflow.Workflow, adapter tracker.Adapter, publisher *publish.Publisher) *discussion.Discussion {
	d := &discussion.Discussion{Issues: adapter.Conversation, Writer: adapter.Writer, Redact: a.redactor.String, Where: commentsOf(wf)}
	if publisher != nil && publisher.GitHub != nil {
		// For half a polling interval, so that an answer never serves for longer than one.
		d.GitHub, d.Access = publisher.GitHub, client.NewAccess(publisher.GitHub, wf.Settings.Poll/2, tracker.IsMarked)
		if file := a.actions.WorkflowFile(publisher.GitHub.Repo()); file != "" {
			d.OwnWorkflow = path.Base(file)
		}
	}
	if d.Issues == nil && d.GitHub == nil {
		return nil
	}
	return d
}

// commentsOf returns the places of the comments that a run of a workflow reads; zero for
// a workflow that is not valid.
func commentsOf(wf workflow.Workflow) schedule.Comments {
	c := schedule.Comments{Issues: schedule.OnTheIssue, Pulls: wf.Settings.Delivery.Kind == workflow.KindPullRequest}
	switch wf.Settings.Tracker.Config.(type) {
	case nil:
		return schedule.Comments{}
	case *github.Config:
		c.Issues = schedule.OnGitHub
	case *file.Config:
		c.Issues = schedule.InTheFile
	}
	return c
}
