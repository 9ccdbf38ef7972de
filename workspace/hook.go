package workspace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"
)

// HookError reports that a hook failed. It wraps [ErrHook], [ErrHookTimeout], or the
// cause of the context that ended the hook.
type HookError struct {
	Hook   string // name of the hook, such as after_run
	Err    error
	Output string // the end of its output, in one sanitized line
	Lines  string // the same as the hook printed it
	Advice string // remedy for its exit status; empty to fix the hook
}

func (e *HookError) Unwrap() error { return e.Err }

// maxHookOutput bounds the output in the text of a [HookError], in bytes. The end of
// the output names the problem, and displays of a long text cut its end.
const maxHookOutput = 280

func (e *HookError) Error() string {
	text := e.Kind()
	if e.Output != "" || errors.Is(e.Err, ErrHook) {
		text += "; " + outputClause(lastWords(e.Output, maxHookOutput))
	}
	switch {
	case errors.Is(e.Err, ErrHookTimeout):
		text += fmt.Sprintf("; make hooks.%s faster or raise hooks.timeout_ms", e.Hook)
	case e.Advice != "":
		text += "; " + e.Advice
	case errors.Is(e.Err, ErrHook):
		text += fmt.Sprintf("; fix hooks.%s in WORKFLOW.md", e.Hook)
	}
	return text
}

// Kind returns the failure of the hook, without its output, so that the text is the same
// for all issues for which the hook fails in the same way.
func (e *HookError) Kind() string {
	if exit, ok := errors.AsType[*ExitError](e.Err); ok {
		return fmt.Sprintf("hook %s: %v: %s", e.Hook, ErrHook, exit.status())
	}
	return fmt.Sprintf("hook %s: %v", e.Hook, e.Err)
}

// lastWords returns the end of a line, at most n bytes, which begins with a whole
// word: part of a secret would no longer be recognized and masked.
func lastWords(line string, n int) string {
	if len(line) <= n {
		return line
	}
	_, words, _ := strings.Cut(line[len(line)-n:], " ")
	return "[...] " + words
}

// AfterCreate runs hooks.after_create in a new workspace that the caller has filled (see
// [Root.Begin]). The error is a [*HookError].
func (r *Root) AfterCreate(ctx context.Context, ws Workspace) error {
	return r.runHook(ctx, "after_create", r.cfg.Hooks.AfterCreate, ws)
}

// BeforeRun runs hooks.before_run. Its failure is fatal to the attempt (SPEC
// §9.4). The error is a [*HookError].
func (r *Root) BeforeRun(ctx context.Context, ws Workspace) error {
	return r.runHook(ctx, "before_run", r.cfg.Hooks.BeforeRun, ws)
}

// AfterRun runs hooks.after_run. Its failure does not fail the attempt (SPEC §9.4),
// but callers report it, because the hook's task was not completed. The error is a
// [*HookError].
func (r *Root) AfterRun(ctx context.Context, ws Workspace) error {
	return r.runHook(ctx, "after_run", r.cfg.Hooks.AfterRun, ws)
}

// runHook removes the files that a hook must not meet in the workspace, runs the script within its
// timeout, and logs start and end. No process of the hook is alive afterwards.
func (r *Root) runHook(ctx context.Context, name, script string, ws Workspace) error {
	if script == "" {
		return nil
	}
	log := r.issueLogger(ws).With("hook", name)
	err := r.Tidy(ws)
	if err == nil && r.cfg.Hooks.GuardGit {
		err = r.checkGit(ws)
	}
	if err != nil {
		err = &HookError{Hook: name, Err: fmt.Errorf("not started: %w", err)}
		log.WarnContext(ctx, "hook failed", "error", err)
		return err
	}
	r.removeSpecialFiles(ctx, ws)
	log.InfoContext(ctx, "hook started")
	began := time.Now()
	err = r.execHook(ctx, name, script, ws, log)
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

func (r *Root) execHook(ctx context.Context, name, script string, ws Workspace, log *slog.Logger) error {
	tooLong := fmt.Errorf("%w: it ran longer than hooks.timeout_ms (%d)", ErrHookTimeout, r.cfg.Hooks.Timeout.Milliseconds())
	ctx, cancel := context.WithTimeoutCause(ctx, r.cfg.Hooks.Timeout, tooLong)
	defer cancel()
	if err := context.Cause(ctx); err != nil {
		return &HookError{Hook: name, Err: fmt.Errorf("not started: %w", err)}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return &HookError{Hook: name, Err: fmt.Errorf("%w: %w", ErrHook, err)}
	}
	defer null.Close()
	set := ws.Issue.Variables()
	if r.cfg.Hooks.GuardGit {
		set = append(set, trustedGitEnv...)
	}
	s, err := r.launch(ctx, launchOptions{ws: ws, script: script, extra: r.cfg.Hooks.Env, set: set, stdin: null, log: log})
	if err != nil {
		return &HookError{Hook: name, Err: fmt.Errorf("%w: %w", ErrHook, err)}
	}
	defer s.markIdle()
	select {
	case <-s.done:
	case <-ctx.Done():
		ended := s.terminate(ctx, 0)
		return errors.Join(&HookError{Hook: name, Err: context.Cause(ctx), Output: s.output.String(), Lines: s.output.lines()}, ended)
	}
	if s.exitErr != nil {
		return &HookError{Hook: name, Err: fmt.Errorf("%w: %w", ErrHook, s.exitErr), Output: s.output.String(), Lines: s.output.lines()}
	}
	return s.killErr
}

func (r *Root) issueLogger(ws Workspace) *slog.Logger {
	return r.log.With("issue_id", ws.Issue.ID, "issue_identifier", ws.Issue.Identifier)
}
