package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

// sandboxTime is the longest that a sandbox may take to run a command that does
// nothing.
const sandboxTime = 20 * time.Second

// sandbox lets programs of the host run with the permission profile, and tests whether the
// server holds that: its rules, its networks and its Unix sockets.
type sandbox struct {
	*core
	programs *programs
	denied   []string       // paths that the agent may not read
	rules    map[string]any // settings of the permission profile; nil if neither turns nor programs use it

	isListed bool            // canExec has succeeded; core.mu guards it
	tried    map[string]bool // the networks whose probe has succeeded, by the name in Exec.Network; core.mu guards it
}

// Exec runs a program inside the agent's sandbox (command/exec) and waits for its end. The
// sandbox is the sandbox of the turns: the program may write the workspace and Options.Temp,
// which is its TMPDIR, read what the agent may read, and reach its own loopback and the hosts
// of its network. That is tried before the first program in it. Processes that it leaves
// running are killed at its end. It needs no thread, and may run while a turn does. When ctx is
// done the program is killed first.
//
// A program that fails is not an error: see ExecResult.ExitCode. The errors are [ExecError],
// [ErrExecStart], [ErrNoExec], [ErrPosture], the cause of ctx, and errors of a call.
func (s *sandbox) Exec(ctx context.Context, x Exec) (ExecResult, error) {
	if len(x.Argv) == 0 {
		return ExecResult{}, errors.New("run a program in the sandbox: none is named")
	}
	if x.Timeout <= 0 {
		x.Timeout = defaultExecTime
	}
	if x.MaxOutput <= 0 {
		x.MaxOutput = defaultExecOutput
	}
	if x.Stdout == nil {
		x.Stdout = io.Discard
	}
	if x.Dir == "" {
		x.Dir = s.o.Cwd
	}
	err := s.admit(ctx, x)
	if err == nil {
		var result ExecResult
		if result, err = s.programs.run(ctx, x); err == nil {
			return result, nil
		}
	}
	if _, described := errors.AsType[*ExecError](err); !described {
		err = fmt.Errorf("run %s in the sandbox: %w", text.OneLine(x.Argv[0], summaryRunes), err)
	}
	s.emit(Event{Kind: Notification, Method: execMethod, Summary: err.Error(), Progress: true})
	return ExecResult{}, err
}

// admit fails unless the server will run a program with the rules of the profile, in the folder
// itself. The server follows a link, and makes its target writable.
func (s *sandbox) admit(ctx context.Context, x Exec) error {
	folder := x.Dir
	if _, known := s.o.networks()[x.Network]; !known {
		return fmt.Errorf("%w: the session has no network %q", ErrExecStart, x.Network)
	}
	if real, err := filepath.EvalSymlinks(folder); err != nil || real != folder || !filepath.IsAbs(real) {
		return fmt.Errorf("%w: the path of the workspace, %q, leads through a link or nowhere: remove the workspace", ErrExecStart, folder)
	}
	s.mu.Lock()
	known := s.isListed
	s.mu.Unlock()
	if !known {
		if err := s.CanExec(ctx); err != nil {
			return err
		}
	}
	if known || folder != s.o.Cwd {
		if err := s.verifyProfile(ctx, folder); err != nil {
			return err
		}
	}
	if x.probing {
		return nil
	}
	return s.tryNetwork(ctx, x.Network)
}

// check runs `true` in the sandbox of the turns. The permission profile exists only
// with a thread unless the server's configuration has it too; without that, or with an
// older server, guardedSandbox takes its place.
func (s *sandbox) check(ctx context.Context) error {
	policy := s.posture.sandbox
	if policy != nil {
		return s.trySandbox(ctx, policy)
	}
	switch err := s.CanExec(ctx); {
	case err == nil:
		return s.tryProfile(ctx)
	case errors.Is(err, ErrNoExec), errors.Is(err, ErrPosture) && !s.o.NeedsExec: // the thread brings its own rules
		return s.trySandbox(ctx, guardedSandbox(s.o))
	default:
		return err
	}
}

// tryProfile runs a program with each permission profile: the probe of its network, or
// `true` without a loopback. CanExec has succeeded.
func (s *sandbox) tryProfile(ctx context.Context) error {
	if !s.o.Loopback {
		return systemic(s.tryProgram(ctx, Exec{Argv: []string{"true"}}, noSandbox))
	}
	for _, name := range append(slices.Sorted(maps.Keys(s.o.Networks)), "") {
		if err := s.tryNetwork(ctx, name); err != nil {
			return systemic(err)
		}
	}
	return nil
}

// tryProgram runs a program to see whether it can. refused returns the error for one that
// fails.
func (s *sandbox) tryProgram(ctx context.Context, x Exec, refused func(said string) error) error {
	x.Timeout, x.Doing = sandboxTime, "trying the sandbox"
	result, err := s.Exec(ctx, x)
	if err == nil && result.ExitCode != 0 {
		err = refused(fmt.Sprintf("exit status %d: %s", result.ExitCode, result.Stderr))
	}
	return err
}

// systemic returns the error for a program that tries the sandbox, in a workspace that no
// agent has changed: if it did not start, no sandbox does.
func systemic(err error) error {
	failed, isExec := errors.AsType[*ExecError](err)
	if isExec && !errors.Is(failed, ErrExecTimeout) {
		return noSandbox(cmp.Or(failed.Stderr, failed.Reason))
	}
	return err
}

// trySandbox runs `true` with a sandbox policy.
func (s *sandbox) trySandbox(ctx context.Context, policy json.RawMessage) error {
	params := map[string]any{
		"command": []string{"true"}, "cwd": s.o.Cwd, "sandboxPolicy": policy, "timeoutMs": sandboxTime.Milliseconds(),
	}
	var r execReply
	err := s.conn.call(ctx, sandboxTime+s.o.Config.ReadTimeout, execMethod, params, into(&r)) // an answer of an unknown shape still means that it ran
	refused, isRefusal := errors.AsType[*ResponseError](err)
	switch {
	case isRefusal && refused.unknown():
		return nil
	case isRefusal && s.posture.sandbox != nil && strings.HasPrefix(refused.Message, "Invalid request"):
		key, _, _ := s.o.Config.sandbox()
		return fmt.Errorf("%s: %w: %s: Codex refuses it: %s", key, ErrSettings,
			text.OneLine(string(s.posture.sandbox), summaryRunes), text.OneLine(refused.Message, messageRunes))
	case isRefusal:
		return noSandbox(refused.Error())
	case err == nil && r.ExitCode != 0:
		return noSandbox(fmt.Sprintf("exit status %d: %s", r.ExitCode, r.Stderr))
	}
	return err
}

// noSandbox returns the error for a sandbox that does not start, with the advice for its
// cause first so that it is never truncated.
func noSandbox(said string) error {
	said = text.OneLine(said, messageRunes)
	if advice := sandboxAdvice(runtime.GOOS, said); advice != "" {
		return fmt.Errorf("%w: %s: %s", ErrNoSandbox, advice, said)
	}
	return fmt.Errorf("%w: Codex says: %s", ErrNoSandbox, said)
}

// sandboxAdvice returns the remedy for a sandbox that does not start, by its message on a
// system; "" if nothing is known about this cause.
func sandboxAdvice(system, said string) string {
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(said, word) })
	}
	switch {
	case system != "linux" && says("sandbox_apply", "Operation not permitted"):
		return "do not run this program inside another sandbox: Codex uses the system's Seatbelt, which cannot be nested"
	case system != "linux":
		return ""
	case says("execvp") && says("codex-linux-sandbox"), says("bwrap: Unknown option"):
		return "the bubblewrap on the PATH is too old: remove it, because Codex has its own, or install 0.9 or later"
	case says("namespace", "uid map", "RTM_NEWADDR", "RTM_NEWLINK", "Operation not permitted", "needs to be setuid"):
		return "allow user namespaces: `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`; " +
			"in Docker `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`"
	}
	return ""
}
