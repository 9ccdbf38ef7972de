package main

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/file"
	"github.com/symphony-runner/symphony/tracker/github"
	"github.com/symphony-runner/symphony/tracker/linear"
	"github.com/symphony-runner/symphony/workspace"
)

// trackers returns the kinds of tracker that this build has. This is the only place
// that names adapters.
func trackers() []tracker.Kind {
	return []tracker.Kind{file.Kind(), github.Kind(), linear.Kind()}
}

// openTracker opens the tracker that a workflow names, without a request.
func (a *app) openTracker(wf workflow.Workflow, log *slog.Logger) (tracker.Adapter, error) {
	a.addWorkflowSecrets(wf)
	s := wf.Settings
	o := tracker.Options{
		ActiveStates: s.Policy.ActiveStates, TerminalStates: s.Policy.TerminalStates,
		RequiredLabels: s.Policy.RequiredLabels, Poll: s.Poll,
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

// connect opens the tracker and the workspaces that a workflow names. A dry run has
// no workspaces: it must not make a folder.
func (a *app) connect(wf workflow.Workflow, log *slog.Logger, dryRun bool) (runner.Connection, error) {
	adapter, err := a.openTracker(wf, log)
	if err != nil {
		return runner.Connection{}, err
	}
	secrets := slices.Concat(wf.Settings.SecretEnv(), keyNames)
	env := workspace.Env{Parent: a.environ, Deny: secrets}
	var workspaces *workspace.Root
	if dryRun {
		err = workspace.Check(wf.Settings.Workspace, env)
	} else {
		workspaces, err = workspace.Open(wf.Settings.Workspace, env, log)
	}
	if err != nil {
		return runner.Connection{}, err
	}
	return runner.Connection{Tracker: adapter, Workspaces: workspaces, Warnings: slices.Concat(
		env.Missing("hooks.env", wf.Settings.Workspace.Hooks.Env),
		env.Missing("codex.env", wf.Settings.Codex.Env),
	)}, nil
}
