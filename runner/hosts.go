package runner

import (
	"context"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/internal/parallel"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
)

// Hosts reaches the worker hosts of a workflow. Several goroutines may call it. Each call ends when its
// context is done, and its errors name the host.
type Hosts interface {
	Places
	// Run runs one session on the host of its job, as [attempt.Run] does here.
	Run(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome
	// Test tries without an issue whether sessions can work on a host, and returns the version of its
	// Codex.
	Test(ctx context.Context, host string) (version string, err error)
}

// Places holds the workspaces of one machine or of several: the part of [Hosts] that this
// machine has as well.
type Places interface {
	// Issues returns the issues that have a workspace on a host, and the keys of the workspaces whose
	// issue is not known.
	Issues(ctx context.Context, host string) (known []workspace.Issue, unknown []string, err error)
	// Remove removes the workspace of an issue on a host, if there is one, and the files of its
	// sessions. hook is the failure of before_remove, which does not stop the removal.
	Remove(ctx context.Context, host string, issue workspace.Issue) (hook, err error)
	// ForgetUnused removes the files of sessions of the issues whose keys are not used, if they are
	// from before a time.
	ForgetUnused(ctx context.Context, host string, used []string, before time.Time) error
}

// here is this machine, whose name as a host is empty.
type here struct {
	workspaces *workspace.Root
	sessionDir string // SessionDir of [Runner]
}

// Issues returns the issues that have a workspace.
func (h here) Issues(context.Context, string) (known []workspace.Issue, unknown []string, err error) {
	return h.workspaces.Issues()
}

// Remove removes the workspace of an issue and the files of its sessions.
func (h here) Remove(ctx context.Context, _ string, issue workspace.Issue) (hook, err error) {
	hook, err = h.workspaces.Remove(ctx, issue)
	if err == nil {
		err = attempt.Forget(h.sessionDir, issue.Identifier)
	}
	return hook, err
}

// ForgetUnused removes old files of sessions.
func (h here) ForgetUnused(_ context.Context, _ string, used []string, before time.Time) error {
	return attempt.ForgetUnused(h.sessionDir, func(key string) bool { return slices.Contains(used, key) }, before)
}

// hostsAtOnce bounds the hosts that are asked at the same time.
const hostsAtOnce = 8

// EachHost calls do for each host, for a few of them at once, and returns when all calls have.
func EachHost(hosts []string, do func(i int, host string)) {
	_ = parallel.Each(context.Background(), hostsAtOnce, hosts, func(_ context.Context, i int, host string) error {
		do(i, host)
		return nil
	})
}

// testOfAny returns the function that tests whether sessions can work on any of the hosts: a pause
// has a cause that all of them share.
func testOfAny(hosts Hosts, names []string) func(context.Context, schedule.Cause) error {
	return func(ctx context.Context, _ schedule.Cause) error {
		errs := make([]error, len(names))
		EachHost(names, func(i int, host string) { _, errs[i] = hosts.Test(ctx, host) })
		if slices.Contains(errs, nil) {
			return nil
		}
		return errs[0]
	}
}
