package main

import (
	"fmt"
	"log/slog"
	"maps"
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

// adapters open a tracker from its settings, without a request. This is the only
// place that names them.
var adapters = map[string]func(a *app, s workflow.Settings, log *slog.Logger) (tracker.Adapter, error){
	"file": func(a *app, s workflow.Settings, _ *slog.Logger) (tracker.Adapter, error) {
		cfg, err := file.ConfigFrom(s.Tracker.Provider)
		if err != nil {
			return tracker.Adapter{}, err
		}
		if a.actions.InActions() {
			cfg.Checkout, _ = a.getenv("GITHUB_WORKSPACE")
		}
		return file.Open(cfg)
	},
	"github": func(a *app, s workflow.Settings, log *slog.Logger) (tracker.Adapter, error) {
		cfg, err := github.ConfigFrom(s.Tracker.Provider, s.Policy.ActiveStates, s.Policy.TerminalStates)
		if err != nil {
			return tracker.Adapter{}, err
		}
		cfg.RequiredLabels, cfg.Poll = s.Policy.RequiredLabels, s.Poll
		if name, isBranch := strings.CutPrefix(a.state, "branch:"); isBranch {
			cfg.StateBranch = name
		}
		return github.Open(cfg, http.DefaultClient, log)
	},
	"linear": func(_ *app, s workflow.Settings, log *slog.Logger) (tracker.Adapter, error) {
		cfg, err := linear.ConfigFrom(s.Tracker.Provider, s.Policy.ActiveStates, s.Policy.TerminalStates)
		if err != nil {
			return tracker.Adapter{}, err
		}
		cfg.RequiredLabels = s.Policy.RequiredLabels
		return linear.Open(cfg, http.DefaultClient, log)
	},
}

// openTracker opens the tracker that a workflow names, without a request.
func (a *app) openTracker(wf workflow.Workflow, log *slog.Logger) (tracker.Adapter, error) {
	kind := wf.Settings.Tracker.Kind
	open, known := adapters[kind]
	if !known {
		return tracker.Adapter{}, fmt.Errorf("tracker.kind %q: %w; this build has: %s",
			kind, tracker.ErrUnsupportedKind, strings.Join(slices.Sorted(maps.Keys(adapters)), ", "))
	}
	a.addWorkflowSecret(wf)
	return open(a, wf.Settings, log)
}

// connect opens the tracker and the workspaces that a workflow names. A dry run has
// no workspaces: it must not make a folder.
func (a *app) connect(wf workflow.Workflow, log *slog.Logger, dryRun bool) (runner.Connection, error) {
	adapter, err := a.openTracker(wf, log)
	if err != nil {
		return runner.Connection{}, err
	}
	secrets := slices.Concat(adapter.SecretEnv, wf.Settings.Tracker.SecretEnv, keyNames)
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
