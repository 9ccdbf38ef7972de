package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/room"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/workspace"
)

// preflight checks whether sessions can work, and returns Codex's version, as [attempt.Preflight] does. warn
// may be nil.
func preflight(ctx context.Context, p process, wf workflow.Workflow, warn func(string)) (codexVersion string, err error) {
	job := trialJob(p, wf)
	job.Warn, job.Lookup, job.Denied = warn, p.getenv, room.DenyCredentials(p.getenv)
	return attempt.Preflight(ctx, job, attempt.Trial{
		Temp: p.tempDir(), Root: wf.Settings.Workspace.Root, Limits: wf.Settings.Workspace.Limits,
		Env: p.childEnv(wf),
	})
}

// trialJob returns the job of a check of the agent without an issue, as far as a workflow decides it.
func trialJob(p process, wf workflow.Workflow) attempt.Job {
	s := wf.Settings
	job := attempt.Job{
		Codex: s.Codex, Version: version(), Account: p.account(wf), Prompt: wf.Prompt,
		Loopback: s.Loopback, UnixSockets: s.UnixSockets, Network: s.Network, HookNetwork: s.HookNetwork,
	}
	if s.Repository != nil {
		job.Repository = &attempt.Repository{Submodules: s.Repository.Submodules, Hooks: s.Workspace.Hooks, TrustedHooks: !s.SandboxHooks, Setup: &attempt.Setup{Config: s.Setup, Network: s.SetupNetwork}}
		if s.Delivery.Kind != workflow.KindNone {
			job.Repository.Deliver = attempt.DeliverNothing
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
