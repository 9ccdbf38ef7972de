package wiring

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/room"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/workspace"
)

// Preflight checks whether sessions can work, and returns Codex's version, as [attempt.Preflight] does. warn
// may be nil.
func Preflight(ctx context.Context, p Process, wf workflow.Workflow, warn func(string)) (codexVersion string, err error) {
	job := trialJob(p, wf)
	job.Warn, job.Lookup, job.Denied = warn, p.Getenv, room.DenyCredentials(p.Getenv)
	return attempt.Preflight(ctx, job, attempt.Trial{
		Temp: p.TempDir(), Root: wf.Settings.Workspace.Root, Limits: wf.Settings.Workspace.Limits,
		Env: p.ChildEnv(wf),
	})
}

// trialJob returns the job of a check of the agent without an issue, as far as a workflow decides it.
func trialJob(p Process, wf workflow.Workflow) attempt.Job {
	s := wf.Settings
	job := attempt.Job{
		Codex: s.Codex, Version: Version(), Account: p.Account(wf), Program: Program(), Prompt: wf.Prompt,
		Loopback: s.Loopback, UnixSockets: s.UnixSockets, Network: s.Network, HookNetwork: s.HookNetwork, Services: s.Services,
	}
	if s.Repository != nil {
		job.Repository = &attempt.Repository{Submodules: s.Repository.Submodules, Hooks: s.Workspace.Hooks, TrustedHooks: !s.SandboxHooks, Setup: &attempt.Setup{Config: s.Setup, Network: s.SetupNetwork}}
		if s.Delivery.Kind != workflow.KindNone {
			job.Repository.Deliver = attempt.DeliverNothing
		}
	}
	return job
}

// TestCause returns the function that tests whether a cause of systemic failures lasts.
func TestCause(p Process) func(context.Context, workflow.Workflow, schedule.Cause) error {
	return func(ctx context.Context, wf workflow.Workflow, cause schedule.Cause) error {
		ctx, cancel := context.WithTimeoutCause(ctx, CheckTimeout, fmt.Errorf("it took longer than %v", CheckTimeout))
		defer cancel()
		if cause == schedule.CauseStart {
			_, err := Preflight(ctx, p, wf, nil)
			return err
		}
		return workspace.CheckMachine(ctx, p.ChildEnv(wf), wf.Settings.Workspace.Root, DataFolder(wf.Path), p.TempDir())
	}
}

// TestMachine tests as testCause does, for a part of a fleet that has no agent: only the shards
// know why Codex does not start.
func TestMachine(p Process) func(context.Context, workflow.Workflow, schedule.Cause) error {
	test := TestCause(p)
	return func(ctx context.Context, wf workflow.Workflow, cause schedule.Cause) error {
		if cause == schedule.CauseStart {
			return errors.New("only shards have Codex")
		}
		return test(ctx, wf, cause)
	}
}

// CheckTimeout bounds each check that asks the network or starts a process.
const CheckTimeout = time.Minute
