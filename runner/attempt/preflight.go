package attempt

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/shell"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// Trial is the place of a [Preflight].
type Trial struct {
	Temp   string // folder for temporary files
	Root   string // folder of the workspaces of sessions, where a relative codex.command begins
	Limits workspace.Limits
	Env    workspace.Env
}

// Preflight checks, without an issue and without a turn, whether the agent of a job can work at all; see
// [codex.Preflight]. It works in folders of its own and without hooks. If sessions will have a Repository,
// the job has one with their hooks and Submodules, and with a Deliver if they will; it needs nothing else. It
// returns the version of the agent; empty, with a warning, if codex.command is in the workspace of an issue, where
// only a session can try it.
func Preflight(ctx context.Context, job Job, t Trial) (version string, err error) {
	command, inside := shell.Elsewhere(job.Codex.Command, t.Root)
	if inside != "" {
		if job.Warn != nil {
			job.Warn("codex.command starts " + inside + ", which is in the workspace of an issue: only a session can try it")
		}
		return "", nil
	}
	folder, err := os.MkdirTemp(t.Temp, "symphony-preflight-")
	if err != nil {
		return "", fmt.Errorf("make a temporary folder: %w; let TMPDIR name another folder, such as /tmp", err)
	}
	defer os.RemoveAll(folder)
	job.Issue, job.Codex.Command, job.Thread, job.Log = tracker.Issue{ID: "preflight", Identifier: "preflight"}, command, "", slog.New(slog.DiscardHandler)
	job.Workspaces, err = workspace.Open(workspace.Config{Root: filepath.Join(folder, "workspaces"), Limits: t.Limits}, t.Env, job.Log)
	if err != nil {
		return "", err
	}
	defer job.Workspaces.Close()
	job.SessionDir = filepath.Join(folder, "codex")
	return preflight(ctx, job)
}

// DeliverNothing delivers nothing: a job without a turn has no work. It is a [Job.Deliver].
func DeliverNothing(context.Context, Delivery) (Delivered, error) { return Delivered{}, nil }

// preflight checks the agent of a job in its workspaces.
func preflight(ctx context.Context, job Job) (version string, err error) {
	a := newAttempt(job, func(Update) {})
	ws, err := a.Workspaces.Prepare(ctx, a.workspaceIssue())
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
