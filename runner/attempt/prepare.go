package attempt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/codex/endpoint"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/setup"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// Prepare makes the pack for the base of a job's repository, as the first session of a tick
// does, also if there is one and again is set. It reports the pack, which is closed, and
// whether it was made now. The workspaces of the job should be a scratch folder and its issue a
// placeholder.
func Prepare(ctx context.Context, job Job, again bool) (pack *setup.Pack, made bool, err error) {
	a := newAttempt(job, func(Update) {})
	ws, err := a.Workspaces.Begin(ctx, a.workspaceIssue())
	if err != nil {
		return nil, false, err
	}
	defer a.Workspaces.Release(ws)
	key, err := a.preparation.key(ctx)
	if err == nil && again {
		if err = a.preparation.Preparations.Folder.Remove(key); err != nil {
			err = setupFailed(err)
		}
	}
	if err != nil {
		return nil, false, err
	}
	pack, err = a.preparation.Preparations.get(ctx, key, func() error {
		made = true
		return a.prepareProject(ctx, ws, key)
	})
	if pack != nil {
		pack.Close()
	}
	for _, warning := range a.warnings {
		if a.Warn != nil {
			a.Warn(warning)
		}
	}
	return pack, made, err
}

// prepareProject runs the script and keeps its files as the pack of a key.
func (a *attempt) prepareProject(ctx context.Context, ws workspace.Workspace, key setup.Key) (err error) {
	began := time.Now()
	folder, err := a.Workspaces.Scratch(ws)
	if err != nil {
		return fmt.Errorf("prepare the project: %w", err)
	}
	defer func() {
		err = errors.Join(err, a.Workspaces.RemoveScratch(folder))
		if ctx.Err() != nil {
			a.warn("the preparation of the project was not done when the session was stopped, and nothing of it is kept", context.Cause(ctx))
		}
	}()
	b, at := a.preparer(), scratchPlace(folder)
	err = b.runAgent(ctx, folder, codex.Connect, func() error { return b.prepareIn(ctx, at) })
	a.warnings = append(a.warnings, b.warnings...)
	if err != nil {
		return err
	}
	content, err := a.preparation.keep(at, key)
	if err == nil {
		a.logger().InfoContext(ctx, "the project is prepared", "files", content.Files, "bytes", content.Bytes, "took", time.Since(began).Round(time.Millisecond))
		if err := a.preparation.Preparations.Folder.Prune(time.Now()); err != nil {
			a.warn("old preparations cannot be removed", err)
		}
	}
	return err
}

// preparer returns the attempt in which the script runs. Its agent process has the variables of
// setup.env, and passes them to the script alone. A script that reaches hosts has an app-server of its
// own even where sessions have one that runs already.
func (a *attempt) preparer() *attempt {
	job := a.Job
	job.Codex.Env = slices.Concat(job.Codex.Env, a.preparation.Env)
	job.Network, job.HookNetwork = codex.Network{}, codex.Network{}
	if len(a.preparation.Network.Hosts) > 0 { // no command reaches hosts that a server starts by itself
		job.Codex.Endpoint = endpoint.Server{}
	}
	repository := *a.Repository
	repository.Checkout.Head, repository.Checkout.Pushed = repository.Checkout.BaseHead, git.ObjectID{}
	job.Repository = &repository
	b := newAttempt(job, a.report)
	b.sandbox.networks = networks(&repository, job.HookNetwork, true)
	b.sandbox.issue, b.sandbox.output = nil, job.Output // the preparation is for all issues
	return b
}

// prepareIn checks the base out in a scratch folder, runs the script there, and has its files
// written to the two tars.
func (a *attempt) prepareIn(ctx context.Context, at place) error {
	err := a.sandbox.session.CanExec(ctx)
	if err == nil {
		err = a.awaitPreflight(ctx)
	}
	if err == nil {
		err = a.filler.findSubmodules(ctx)
	}
	checkout := a.Repository.Checkout
	checkout.Submodules = a.filler.submodules
	if err == nil {
		checkout.Objects, err = a.filler.objects(ctx)
	}
	if err == nil {
		err = a.filler.fillScratch(ctx, at, checkout, nil)
	}
	if err == nil {
		err = a.preparation.runScript(ctx, at, runKey, a.preparation.Env)
	}
	if err != nil {
		return err
	}
	command := a.Repository.Host.KeepCommand(at.room, at.home(), setup.MaxBytes, a.preparation.Keep)
	changed := text.Tail{Limit: maxOutputTail}
	result, err := a.sandbox.run(ctx, at, command, "keeping what the preparation has made", checkoutTime, &changed)
	if err == nil && result.ExitCode != 0 {
		err = setupFailed(fmt.Errorf("what it made cannot be kept: %s", a.brief(result.Stderr)))
	}
	if files := text.OneLine(a.Redact(changed.FromWord()), maxHookOutput); err == nil && files != "" {
		a.warn("setup.run has changed files that git tracks, and these changes are not kept", errors.New(files))
	}
	return err
}
