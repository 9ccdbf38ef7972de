package workspace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"
)

// BeforeRun runs hooks.before_run. Its failure is fatal to the attempt (SPEC
// §9.4): [ErrHook] or [ErrHookTimeout], or the cause of ctx when that ended it.
func (r *Root) BeforeRun(ctx context.Context, ws Workspace) error {
	return r.hook(ctx, "before_run", r.cfg.Hooks.BeforeRun, ws)
}

// AfterRun runs hooks.after_run. Its failure is logged here, and callers ignore it.
func (r *Root) AfterRun(ctx context.Context, ws Workspace) error {
	return r.hook(ctx, "after_run", r.cfg.Hooks.AfterRun, ws)
}

// hook runs a script in the workspace, within its time, and logs how it goes.
// When it returns nothing of the hook is running.
func (r *Root) hook(ctx context.Context, name, script string, ws Workspace) error {
	r.Tidy(ws)
	if script == "" {
		return nil
	}
	log := r.issueLog(ws).With("hook", name)
	log.InfoContext(ctx, "hook started")
	began := time.Now()
	err := r.runHook(ctx, name, script, ws, log)
	switch took := time.Since(began).Round(time.Millisecond); {
	case err == nil:
		log.DebugContext(ctx, "hook completed", "took", took)
	case errors.Is(err, ErrHookTimeout):
		log.WarnContext(ctx, "hook timed out", "took", took, "error", err)
	default:
		log.WarnContext(ctx, "hook failed", "took", took, "error", err)
	}
	return err
}

func (r *Root) runHook(ctx context.Context, name, script string, ws Workspace, log *slog.Logger) error {
	tooLong := fmt.Errorf("%w: it ran longer than hooks.timeout_ms (%d)", ErrHookTimeout, r.cfg.Hooks.Timeout.Milliseconds())
	ctx, cancel := context.WithTimeoutCause(ctx, r.cfg.Hooks.Timeout, tooLong)
	defer cancel()
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("hook %s: not started: %w", name, err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return fmt.Errorf("hook %s: %w: %w", name, ErrHook, err)
	}
	defer null.Close()
	s, err := r.launch(ctx, launch{
		ws: ws, script: script, extra: r.cfg.Hooks.Env, stdin: null, log: log,
		set: []string{
			"SYMPHONY_ISSUE_ID=" + ws.Issue.ID,
			"SYMPHONY_ISSUE_IDENTIFIER=" + ws.Issue.Identifier,
			"SYMPHONY_ATTEMPT=" + strconv.Itoa(ws.Issue.Attempt),
		},
	})
	if err != nil {
		return fmt.Errorf("hook %s: %w: %w", name, ErrHook, err)
	}
	defer s.rest()
	select {
	case <-s.done:
	case <-ctx.Done():
		ended := s.end(ctx, 0)
		cause := context.Cause(ctx)
		err := fmt.Errorf("hook %s: %w; %s", name, cause, said(s.output.String()))
		if cause == tooLong {
			err = fmt.Errorf("%w; make hooks.%s faster or raise hooks.timeout_ms", err, name)
		}
		return errors.Join(err, ended)
	}
	if s.err != nil {
		return fmt.Errorf("hook %s: %w: %w; mend hooks.%s in WORKFLOW.md", name, ErrHook, s.err, name)
	}
	return s.left
}

// issueLog is the logger of an issue (SPEC §13.1).
func (r *Root) issueLog(ws Workspace) *slog.Logger {
	return r.log.With("issue_id", ws.Issue.ID, "issue_identifier", ws.Issue.Identifier)
}
