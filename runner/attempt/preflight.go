package attempt

import (
	"context"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
)

// Preflight checks, without a turn, whether the agent of a job can work at all;
// see [codex.Preflight]. The workspaces of the job should be a scratch folder and its
// issue a placeholder. If sessions will have a Repository, the job has one with their
// hooks and Submodules, and with a Deliver if they will; it needs nothing else. It returns
// the version of the agent.
func Preflight(ctx context.Context, job Job) (version string, err error) {
	a := newAttempt(job, func(Update) {})
	ws, err := a.Workspaces.Prepare(ctx, workspace.Issue{ID: string(a.Issue.ID), Identifier: a.Issue.Identifier})
	if err != nil {
		return "", err
	}
	defer a.Workspaces.Release(ws)
	defer a.cleanDirs()
	if err := a.dirs.make(ctx, a.Thread); err != nil {
		return "", err
	}
	server, options, err := a.start(ctx, ws, false)
	if err != nil {
		return "", err
	}
	options.Events = func(e codex.Event) {
		if e.Kind == codex.Warning && a.Warn != nil {
			a.Warn(e.Summary)
		}
	}
	version, err = codex.Preflight(ctx, server, options)
	return version, server.end(ctx, err)
}

// PreflightOnce lets one session of a tick check, before its first turn, whether
// sessions can work at all (login, model, sandbox), while the others wait for the
// result. A separate session for the check would cost every tick the start of
// another agent.
type PreflightOnce struct {
	checking chan struct{} // a lock with room for one: held by the session that checks
	passed   bool
	err      error // reason why no session can work; nil until a check finds one
}

// NewPreflightOnce returns a PreflightOnce whose check has not run yet.
func NewPreflightOnce() *PreflightOnce { return &PreflightOnce{checking: make(chan struct{}, 1)} }

// enter waits until no other session is checking. It reports whether the caller
// must run the check and then call leave; otherwise err is the result of the
// check. A nil PreflightOnce has passed.
func (p *PreflightOnce) enter(ctx context.Context) (mustCheck bool, err error) {
	if p == nil {
		return false, nil
	}
	select {
	case p.checking <- struct{}{}:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	if p.passed || p.err != nil {
		defer func() { <-p.checking }()
		return false, p.err
	}
	return true, nil
}

// leave records the result of the check for the other sessions. A failure that
// concerns only this session says nothing about them: the next one checks again.
func (p *PreflightOnce) leave(err error) {
	if class, _ := classify(err); err == nil {
		p.passed = true
	} else if class == schedule.Systemic {
		p.err = err
	}
	<-p.checking
}
