package attempt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/workspace"
)

const (
	// maxProgramOutput bounds what a program of the host may print, in bytes.
	maxProgramOutput = 64 << 20
	// maxOutputTail bounds what is kept of it.
	maxOutputTail = 4 << 10
	// maxHookOutput bounds what an error shows of it.
	maxHookOutput = 280
)

// shell runs a script in the sandbox, as the agent would, and returns its exit status
// and the end of its output. It stops the script at the timeout. An empty folder is the
// workspace; see execIn. doing says for people what the script does, and network is one of
// networks, or empty for that of the agent.
func (a *attempt) shell(ctx context.Context, session *codex.Session, folder, doing, script, network string, timeout time.Duration, variables []string) (code int, output string, err error) {
	var tail outputTail
	var env []string
	if !a.preparing { // what is prepared is for all issues
		env = []string{
			"SYMPHONY_ISSUE_ID=" + string(a.Issue.ID),
			"SYMPHONY_ISSUE_IDENTIFIER=" + a.Issue.Identifier,
			"SYMPHONY_ATTEMPT=" + strconv.Itoa(a.Attempt),
		}
	}
	own := a.temp
	if folder != "" {
		own = scratchRoom(folder)
	}
	reached, known := a.networks()[network]
	if !known {
		network, reached = "", a.Network
	}
	env = append(env, a.roomEnv(own, reached)...)
	stdout := io.Writer(&tail)
	if a.preparing && a.Output != nil {
		stdout = io.MultiWriter(&tail, a.Output)
	}
	result, err := session.Exec(ctx, execIn(folder, codex.Exec{
		// Not a login shell: Codex was started by one, and here HOME is the agent's.
		Argv: []string{"bash", "-c", "exec 2>&1\n" + script}, Doing: doing, Env: env,
		Inherit: variables, Timeout: timeout, MaxOutput: maxProgramOutput, Stdout: stdout, Network: network,
	}))
	return result.ExitCode, a.Redact(tail.text()), err
}

// sandboxedHook runs a hook in the sandbox; an empty folder is the workspace. Its failure is
// a [workspace.HookError].
func (a *attempt) sandboxedHook(ctx context.Context, session *codex.Session, folder, name, script string) error {
	if script == "" {
		return nil
	}
	hooks := a.Repository.Hooks
	log := a.logger().With("hook", name)
	log.InfoContext(ctx, "hook started")
	began := time.Now()
	code, output, err := a.shell(ctx, session, folder, "running the hook "+name, script, hooksNetwork, hooks.Timeout, hooks.Env)
	failed := &workspace.HookError{Hook: name, Output: text.Output(output, maxHookOutput), Lines: output}
	switch {
	case errors.Is(err, codex.ErrExecTimeout):
		failed.Err = fmt.Errorf("%w: it ran longer than hooks.timeout_ms (%d)", workspace.ErrHookTimeout, hooks.Timeout.Milliseconds())
	case ctx.Err() != nil && err != nil:
		failed.Err = context.Cause(ctx)
	case isAny(err, codex.ErrExecKilled, codex.ErrExecOutput):
		failed.Err = fmt.Errorf("%w: %w", workspace.ErrHook, err)
	case err != nil: // it is not the hook that failed
		return err
	case code != 0:
		failed.Advice = a.networkAdvice(output)
		failed.Err = fmt.Errorf("%w: %w", workspace.ErrHook, &workspace.ExitError{Code: code, Output: failed.Output})
	default:
		a.EventLog.hook(name, output, &code, time.Since(began), "")
		return nil
	}
	log.WarnContext(ctx, "hook failed", "error", failed)
	return a.logHook(began, failed)
}

// sandboxedAfterRun runs after_run, whose failure changes no outcome, unless it runs
// outside the sandbox.
func (a *attempt) sandboxedAfterRun(ctx context.Context, session *codex.Session) {
	a.work.hooked = true
	if a.Repository.TrustedHooks {
		return
	}
	if err := a.sandboxedHook(ctx, session, "", "after_run", a.Repository.Hooks.AfterRun); err != nil {
		a.warnings = append(a.warnings, a.brief(err.Error()))
	}
}

// outputTail keeps the end of what is written to it.
type outputTail struct {
	bytes []byte
	cut   bool
}

func (t *outputTail) Write(p []byte) (int, error) {
	t.bytes = append(t.bytes, p...)
	if over := len(t.bytes) - maxOutputTail; over > 0 {
		t.bytes, t.cut = t.bytes[over:], true
	}
	return len(p), nil
}

// text returns the end, from its first word that is whole: a part of one can be a part of a
// secret, which nobody would recognise.
func (t *outputTail) text() string {
	if !t.cut {
		return string(t.bytes)
	}
	at := bytes.IndexAny(t.bytes, " \t\r\n")
	if at < 0 {
		at = len(t.bytes)
	}
	return "[...]" + string(t.bytes[at:])
}
