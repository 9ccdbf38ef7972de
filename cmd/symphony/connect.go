package main

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
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
		if a.actions.Inside() {
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

// connect opens what a workflow names. A dry run has no workspaces: nothing is
// made for it.
func (a *app) connect(wf workflow.Workflow, log *slog.Logger) (runner.Connection, error) {
	kind := wf.Settings.Tracker.Kind
	open, known := adapters[kind]
	if !known {
		return runner.Connection{}, fmt.Errorf("tracker.kind %q: %w; this build has: %s",
			kind, tracker.ErrUnsupportedKind, strings.Join(slices.Sorted(maps.Keys(adapters)), ", "))
	}
	a.learn(wf)
	adapter, err := open(a, wf.Settings, log)
	if err != nil {
		return runner.Connection{}, err
	}
	secrets := slices.Concat(adapter.SecretEnv, wf.Settings.Tracker.SecretEnv, keyNames)
	env := workspace.Env{Parent: a.environ, Deny: secrets}
	var workspaces *workspace.Root
	if a.dryRun {
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

// workflows is the source of the WORKFLOW.md at path.
func (a *app) workflows(path string) *workflow.Source {
	home, _ := a.getenv("HOME")
	runnerTemp, _ := a.getenv("RUNNER_TEMP")
	return workflow.NewSource(path, workflow.Env{
		Lookup: a.getenv, Home: home, TempDir: os.TempDir(), Actions: a.actions.Inside(), RunnerTemp: runnerTemp,
	})
}

// workflowPath is the WORKFLOW.md that the command line names (SPEC §5.1).
func workflowPath(args []string) (string, error) {
	if len(args) == 0 {
		return filepath.Abs("WORKFLOW.md")
	}
	return filepath.Abs(args[0])
}

// logger writes to the terminal's own stream, so that standard output is the
// report alone.
func (a *app) logger(console *console) (*slog.Logger, error) {
	switch a.logFormat {
	case "text":
		if a.actions.Inside() {
			return slog.New(a.redactor.Handler(a.actions.Handler(slog.LevelInfo))), nil
		}
		return slog.New(a.redactor.Handler(slog.NewTextHandler(console, nil))), nil
	case "json":
		return slog.New(a.redactor.Handler(slog.NewJSONHandler(console, nil))), nil
	}
	return nil, fmt.Errorf("%w: --log-format %q: want text or json", errUsage, a.logFormat)
}
