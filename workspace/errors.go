package workspace

import (
	"errors"
	"fmt"
	"syscall"
)

// The categories of errors, found with [errors.Is].
var (
	// ErrRoot: workspace.root cannot be used.
	ErrRoot = errors.New("invalid_workspace_root")
	// ErrUnsafe: something that is not the issue's own folder stands in its place.
	ErrUnsafe = errors.New("unsafe_workspace")
	// ErrBusy: processes of an earlier run work there and cannot be killed.
	ErrBusy = errors.New("workspace_busy")
	// ErrInvalidCwd: a process was to start elsewhere than in its workspace (SPEC §10.6).
	ErrInvalidCwd = errors.New("invalid_workspace_cwd")
	// ErrHook: a hook exited with a failure or could not be started.
	ErrHook = errors.New("hook_failed")
	// ErrHookTimeout: a hook ran longer than hooks.timeout_ms.
	ErrHookTimeout = errors.New("hook_timeout")
	// ErrNotFound: the login shell does not find the agent's command (SPEC §10.6).
	ErrNotFound = errors.New("codex_not_found")
	// ErrUnresponsive: a process, or something it started, survived being killed.
	ErrUnresponsive = errors.New("unresponsive_process")
)

// ExitError is a process that did not exit with status 0.
type ExitError struct {
	Code   int            // exit status, -1 when a signal ended it
	Signal syscall.Signal // which signal, else 0
	Output string         // the end of its stderr (of a hook: of all its output), in one harmless line
}

func (e *ExitError) Error() string { return e.how() + "; " + said(e.Output) }

// how returns how the process ended, without what it printed.
func (e *ExitError) how() string {
	if e.Signal != 0 {
		return fmt.Sprintf("killed by signal %q", e.Signal)
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// said is an output tail as errors show it.
func said(output string) string {
	if output == "" {
		return "it printed nothing"
	}
	return fmt.Sprintf("its last output: %q", output)
}
