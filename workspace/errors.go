package workspace

import (
	"errors"
	"fmt"
	"syscall"
)

// The categories of errors, for [errors.Is]. Each package declares its own: the leaves
// import nothing of each other.
var (
	// ErrRoot: workspace.root cannot be used.
	ErrRoot = errors.New("invalid_workspace_root")
	// ErrRootGone: workspace.root was removed or replaced while it was in use.
	ErrRootGone = errors.New("workspace_root_gone")
	// ErrMachine: this machine has no room, or no processes or files left.
	ErrMachine = errors.New("machine_exhausted")
	// ErrUnsafe: something other than the issue's own folder is in its place, or git
	// may obey another repository there.
	ErrUnsafe = errors.New("unsafe_workspace")
	// ErrBusy: processes of an earlier run are in the workspace and cannot be killed.
	ErrBusy = errors.New("workspace_busy")
	// ErrInUse: another process works in the workspace, such as a run of another project.
	ErrInUse = errors.New("workspace_in_use")
	// ErrForeign: the workspace belongs to an issue of another project.
	ErrForeign = errors.New("workspace_of_another_project")
	// ErrNone: there is no workspace of the issue.
	ErrNone = errors.New("no_workspace")
	// ErrInvalidCwd: the working directory of a new process is not its workspace (SPEC §10.6).
	ErrInvalidCwd = errors.New("invalid_workspace_cwd")
	// ErrHook: a hook exited with a failure or could not be started.
	ErrHook = errors.New("hook_failed")
	// ErrHookTimeout: a hook ran longer than hooks.timeout_ms.
	ErrHookTimeout = errors.New("hook_timeout")
	// ErrNotFound: the login shell does not find the agent's command (SPEC §10.6).
	ErrNotFound = errors.New("codex_not_found")
	// ErrKilled: nothing starts any more, see [Root.Killed].
	ErrKilled = errors.New("killed")
	// ErrUnresponsive: a process, or a descendant of it, survived SIGKILL.
	ErrUnresponsive = errors.New("unresponsive_process")
)

// ExitError reports that a process did not exit with status 0.
type ExitError struct {
	Code   int            // exit status; -1 if a signal ended the process
	Signal syscall.Signal // the signal that ended it, or 0
	Output string         // the end of its stderr (of a hook: of all its output), in one sanitized line
}

func (e *ExitError) Error() string { return e.status() + "; " + outputClause(e.Output) }

// status returns the end of the process, without its output.
func (e *ExitError) status() string {
	if e.Signal != 0 {
		return fmt.Sprintf("killed by signal %q", e.Signal)
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

func outputClause(output string) string {
	if output == "" {
		return "it printed nothing"
	}
	return fmt.Sprintf("its last output: %q", output)
}
