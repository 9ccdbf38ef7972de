package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/symphony-runner/symphony/internal/shell"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/room"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// preflight checks whether sessions can work, in a workspace of its own and without
// hooks, and returns Codex's version. It starts no turn and asks no model. warn may be nil.
func preflight(ctx context.Context, p process, wf workflow.Workflow, warn func(string)) (codexVersion string, err error) {
	command, inside := shell.Elsewhere(wf.Settings.Codex.Command, wf.Settings.Workspace.Root)
	if inside != "" {
		if warn != nil {
			warn("codex.command starts " + inside + ", which is in the workspace of an issue: only a session can try it")
		}
		return "", nil
	}
	wf.Settings.Codex.Command = command
	folder, err := p.makeTempFolder("symphony-preflight-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	deny := slices.Concat(wf.Settings.SecretEnv(), keyNames)
	config := workspace.Config{Root: filepath.Join(folder, "workspaces"), Limits: wf.Settings.Workspace.Limits}
	root, err := workspace.Open(config, workspace.Env{Parent: p.environ, Deny: deny}, quiet())
	if err != nil {
		return "", err
	}
	defer root.Close()
	job := trialJob(p, wf)
	job.Workspaces, job.Log, job.Warn, job.Lookup = root, quiet(), warn, p.getenv
	job.SessionDir, job.Denied = filepath.Join(folder, "codex"), room.DenyCredentials(p.getenv)
	return attempt.Preflight(ctx, job)
}

// trialJob returns the job of a check of the agent without an issue, as far as a workflow decides it.
func trialJob(p process, wf workflow.Workflow) attempt.Job {
	s := wf.Settings
	job := attempt.Job{
		Issue: tracker.Issue{ID: "preflight", Identifier: "preflight"}, Codex: s.Codex, Version: version(), Account: p.account(wf), Prompt: wf.Prompt,
		Loopback: s.Loopback, UnixSockets: s.UnixSockets, Network: s.Network, HookNetwork: s.HookNetwork,
	}
	if s.Repository != nil {
		job.Repository = &attempt.Repository{Submodules: s.Repository.Submodules, Hooks: s.Workspace.Hooks, TrustedHooks: !s.SandboxHooks, Setup: &attempt.Setup{Config: s.Setup, Network: s.SetupNetwork}}
		if s.Delivery.Kind != workflow.KindNone {
			job.Repository.Deliver = deliverNothing
		}
	}
	return job
}

// testCause returns the function that tests whether a cause of systemic failures lasts.
func testCause(p process) func(context.Context, workflow.Workflow, schedule.Cause) error {
	return func(ctx context.Context, wf workflow.Workflow, cause schedule.Cause) error {
		ctx, cancel := context.WithTimeoutCause(ctx, checkTimeout, fmt.Errorf("it took longer than %v", checkTimeout))
		defer cancel()
		if cause == schedule.CauseStart {
			_, err := preflight(ctx, p, wf, nil)
			return err
		}
		return workspace.CheckMachine(ctx, p.childEnv(wf), wf.Settings.Workspace.Root, dataFolder(wf.Path), p.tempDir())
	}
}

// testMachine tests as testCause does, for a part of a fleet that has no agent: only the shards
// know why Codex does not start.
func testMachine(p process) func(context.Context, workflow.Workflow, schedule.Cause) error {
	test := testCause(p)
	return func(ctx context.Context, wf workflow.Workflow, cause schedule.Cause) error {
		if cause == schedule.CauseStart {
			return errors.New("only shards have Codex")
		}
		return test(ctx, wf, cause)
	}
}

// deliverNothing publishes nothing: a check has no turn, and so no work.
func deliverNothing(context.Context, attempt.Delivery) (attempt.Delivered, error) {
	return attempt.Delivered{}, nil
}
