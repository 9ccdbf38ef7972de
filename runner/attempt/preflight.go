package attempt

import (
	"context"
	"errors"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/workspace"
)

// Preflight finds out whether the agent of a job can work at all, without a
// turn: see [codex.Preflight]. The job's workspaces are a scratch folder, and
// its issue stands for all of them. The version is the agent's.
func Preflight(ctx context.Context, job Job) (version string, err error) {
	a := &attempt{Job: job, report: func(Update) {}}
	ws, err := a.Workspaces.Prepare(ctx, workspace.Issue{ID: string(a.Issue.ID), Identifier: a.Issue.Identifier})
	if err != nil {
		return "", err
	}
	defer a.cleanDirs()
	if err := a.prepareDirs(); err != nil {
		return "", err
	}
	process, err := a.Workspaces.Start(ctx, ws, a.Codex.Command, a.environment())
	if err != nil {
		return "", err
	}
	options := a.options(ws, process)
	options.Events = func(e codex.Event) {
		if e.Kind == codex.Warning && a.Warn != nil {
			a.Warn(e.Summary)
		}
	}
	version, err = codex.Preflight(ctx, process, options)
	if errors.Is(err, codex.ErrPortExit) {
		err = addExitStatus(err, process)
	}
	return version, errors.Join(err, process.Stop(ctx))
}
