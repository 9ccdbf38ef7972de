package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/room"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/workspace"
)

// workflowPath returns the WORKFLOW.md that the command line names (SPEC §5.1).
func workflowPath(args []string) (string, error) {
	if len(args) == 0 {
		return filepath.Abs("WORKFLOW.md")
	}
	return filepath.Abs(args[0])
}

func (a *app) workflows(path string) *workflow.Source {
	return workflow.NewSource(path, workflow.Env{
		Lookup: a.gitHub().LookupNear(path), Home: a.Value("HOME"), TempDir: a.TempDir(), Actions: a.Actions.InActions(), RunnerTemp: a.Value("RUNNER_TEMP"), App: a.gitHub().HasApp(),
		Trackers: wiring.Trackers(),
	})
}

// workflow returns the workflow that the command line names, and its source.
func (a *app) workflow(args []string) (*workflow.Source, workflow.Workflow, error) {
	path, err := workflowPath(args)
	if err != nil {
		return nil, workflow.Workflow{}, err
	}
	source := a.workflows(path)
	wf, err := source.Current()
	return source, wf, err
}

// planner returns a runner that only plans, for the workflow that the command line names.
func (a *app) planner(args []string) (*runner.Runner, workflow.Workflow, error) {
	source, wf, err := a.workflow(args)
	if err != nil {
		return nil, wf, err
	}
	state, err := a.statePlace().Open(wf, wiring.StateReadOnly)
	if err != nil {
		return nil, wf, err
	}
	r, err := a.runner(source, wf, state, a.console(false, wf.Path), true)
	return r, wf, err
}

// readWorkflow is a workflow file whose first Current returns a workflow that was read before.
type readWorkflow struct {
	*workflow.Source
	read *workflow.Workflow // nil after the first Current
}

func (w *readWorkflow) Current() (workflow.Workflow, error) {
	if read := w.read; read != nil {
		w.read = nil
		return *read, nil
	}
	return w.Source.Current()
}

// runner returns the runner of a workflow, which source has read as wf. The command sets the
// limits and the functions that show the progress.
func (a *app) runner(source *workflow.Source, wf workflow.Workflow, state *wiring.StateStore, console *console, dryRun bool) (*runner.Runner, error) {
	log, err := a.logger(console)
	if err != nil {
		return nil, err
	}
	if err := workspace.HideFromChildren(); err != nil {
		log.Warn("children can read this process", "error", err)
		a.warn(fmt.Sprintf("children can read this process and its secrets: %v", err))
	}
	self := a.Owner()
	return &runner.Runner{
		Workflows: &readWorkflow{source, &wf},
		Connect: func(ctx context.Context, wf workflow.Workflow) (runner.Connection, error) {
			return a.opener().Connect(ctx, wf, log, dryRun)
		},
		Store:         state,
		RunSession:    attempt.Run,
		OwnerStatuses: wiring.OwnerStatuses(a.statePlace(), wf, self, state),
		LeftResults:   a.opener().LeftResults(wf),
		Self:          self,
		Account:       a.Account(wf),
		Login:         a.Login,
		Test:          wiring.TestCause(a.Process),
		SessionDir:    wiring.SessionFolder(wf.Path),
		Program:       wiring.Program(),
		Transcripts:   wiring.TranscriptFolder(wf.Path),
		Denied:        denied(a.statePlace(), wf.Path),
		Lookup:        a.Getenv,
		Redact:        a.redactor.String,
		Version:       wiring.Version(),
		Once:          a.Actions.InActions(),
		Log:           log,
		Killed:        a.Interrupts.Killed,
	}, nil
}

// logger returns a logger that writes to the console, so that standard output holds
// only the report.
func (a *app) logger(console *console) (*slog.Logger, error) {
	switch a.logFormat {
	case "text":
		if a.Actions.InActions() {
			return slog.New(a.redactor.Handler(a.Actions.Handler(console, slog.LevelInfo))), nil
		}
		return slog.New(a.redactor.Handler(console.handler())), nil
	case "json":
		return slog.New(a.redactor.Handler(slog.NewJSONHandler(console, nil))), nil
	}
	return nil, a.wrongLogFormat()
}

func (a *app) wrongLogFormat() error {
	return fmt.Errorf("%w: --log-format %q: want text or json", wiring.ErrUsage, a.logFormat)
}

// denied returns the paths that agents may not read: the user's keys and the files of this
// program.
func denied(place wiring.StatePlace, workflowPath string) room.Denied {
	d := room.DenyCredentials(place.Getenv)
	d.Paths = append(d.Paths, wiring.DataFolder(workflowPath))
	path := place.Path()
	if path == "" {
		return d
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return d // without a working directory the state cannot be opened either
	}
	d.Paths = append(d.Paths, ownPaths(place.Process, workflowPath, filepath.Dir(path), filepath.Base(path))...)
	return d
}

// ownPaths returns the folder in which this program keeps files of these names, because a
// save replaces a file by a new one, which a command that already runs could read. It
// returns only the files where the folder also holds WORKFLOW.md, the user's home or
// temporary files.
func ownPaths(p wiring.Process, workflowPath, folder string, names ...string) (paths []string) {
	for _, other := range []string{workflowPath, p.Value("HOME"), p.TempDir()} {
		if rest, err := filepath.Rel(folder, other); other != "" && err == nil && filepath.IsLocal(rest) {
			for _, name := range names {
				paths = append(paths, filepath.Join(folder, name))
			}
			return paths
		}
	}
	return []string{folder}
}
