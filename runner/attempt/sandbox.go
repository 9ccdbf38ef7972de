package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/hosts"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

const (
	// maxProgramOutput bounds the output of a program of the host, in bytes.
	maxProgramOutput = 64 << 20
	// maxOutputTail bounds the kept part of it.
	maxOutputTail = 4 << 10
	// maxHookOutput bounds the part of it in an error.
	maxHookOutput = 280
)

// sandbox runs programs of the host in the sandbox of the agent, in the workspace of the
// session and in scratch folders.
type sandbox struct {
	*journal
	rooms
	networks map[string]codex.Network // networks of programs that have hosts of their own, by the names of the programs
	issue    []string                 // variables of the scripts; none for files that are made for all issues
	hooks    workspace.Hooks
	output   io.Writer // gets the output of scripts, too; nil drops it

	session *codex.Session
	here    place // the workspace, while session is open
}

// run runs a command of the host in a place, with a bound of its time. stdout gets its output,
// and may be nil.
func (s *sandbox) run(ctx context.Context, at place, command git.Command, doing string, timeout time.Duration, stdout io.Writer) (codex.ExecResult, error) {
	return s.session.Exec(ctx, at.exec(codex.Exec{
		Argv: command.Args, Env: command.Env, Doing: doing, Timeout: timeout, MaxOutput: maxProgramOutput, Stdout: stdout,
	}))
}

// script is a shell script that runs in the sandbox as the agent's commands do.
type script struct {
	text      string
	doing     string        // work of the script in words for people
	network   string        // a key of sandbox.networks; any other is the agent's network
	variables []string      // names of the variables that it sees besides the plain ones
	timeout   time.Duration // time after which it is stopped
}

// shell runs a script in a place, and returns its exit status and the end of its output.
func (s *sandbox) shell(ctx context.Context, at place, c script) (code int, output string, err error) {
	tail := text.Tail{Limit: maxOutputTail}
	reached, known := s.networks[c.network]
	if !known {
		c.network, reached = "", s.network
	}
	stdout := io.Writer(&tail)
	if s.output != nil {
		stdout = io.MultiWriter(&tail, s.output)
	}
	result, err := s.session.Exec(ctx, at.exec(codex.Exec{
		// Not a login shell: Codex was started by one, and here HOME is the agent's.
		Argv: []string{"bash", "-c", "exec 2>&1\n" + c.text}, Doing: c.doing, Env: append(slices.Clone(s.issue), s.assignments(at.room, reached)...),
		Inherit: c.variables, Timeout: c.timeout, MaxOutput: maxProgramOutput, Stdout: stdout, Network: c.network,
	}))
	return result.ExitCode, s.redact(tail.FromWord()), err
}

// failureOf returns the failure of a script, by its exit status and the error of its run; empty if
// it did not fail. tooLong and tooMuch describe one that was stopped. An error that is not the
// script's is returned.
func failureOf(code int, err error, tooLong, tooMuch string) (how string, _ error) {
	switch {
	case errors.Is(err, codex.ErrExecTimeout):
		return tooLong, nil
	case errors.Is(err, codex.ErrExecOutput):
		return tooMuch, nil
	case errors.Is(err, codex.ErrExecKilled):
		return "it was killed", nil
	case err == nil && code != 0:
		return fmt.Sprintf("exit status %d", code), nil
	}
	return "", err
}

// hook runs a hook in a place. Its failure is a [workspace.HookError].
func (s *sandbox) hook(ctx context.Context, at place, name, commands string) error {
	if commands == "" {
		return nil
	}
	log := s.logger().With("hook", name)
	log.InfoContext(ctx, "hook started")
	began := time.Now()
	code, output, err := s.shell(ctx, at, script{text: commands, doing: "running the hook " + name, network: hooksNetwork, timeout: s.hooks.Timeout, variables: s.hooks.Env})
	failed := &workspace.HookError{Hook: name, Output: text.Output(output, maxHookOutput), Lines: output}
	switch {
	case errors.Is(err, codex.ErrExecTimeout):
		failed.Err = fmt.Errorf("%w: it ran longer than hooks.timeout_ms (%d)", workspace.ErrHookTimeout, s.hooks.Timeout.Milliseconds())
	case ctx.Err() != nil && err != nil:
		failed.Err = context.Cause(ctx)
	case isAny(err, codex.ErrExecKilled, codex.ErrExecOutput):
		failed.Err = fmt.Errorf("%w: %w", workspace.ErrHook, err)
	case err != nil: // it is not the hook that failed
		return err
	case code != 0:
		_, has := s.networks[hooksNetwork]
		failed.Advice = hosts.Advice(output, has)
		failed.Err = fmt.Errorf("%w: %w", workspace.ErrHook, &workspace.ExitError{Code: code, Output: failed.Output})
	default:
		s.eventLog.hook(name, output, &code, time.Since(began), "")
		return nil
	}
	log.WarnContext(ctx, "hook failed", "error", failed)
	return s.logHook(began, failed)
}

// errOutputLost is the error for output without its end: two seconds after a program ended,
// Codex drops what is not read yet, and says nothing.
var errOutputLost = errors.New("codex dropped the end of the output, because this machine was too busy to read it: it is tried again; run fewer sessions at once (agent.max_concurrent_agents) if it stays so")

// stream runs a command in the sandbox and calls read with its output. The error is read's own,
// unless the command itself failed. If read misses the end of the output, the error is
// [errOutputLost]: the command has written it.
func (s *sandbox) stream(ctx context.Context, command git.Command, maxOutput int, read func(io.Reader) error) error {
	reader, writer := io.Pipe()
	var refused error
	var receiving sync.WaitGroup
	receiving.Go(func() {
		refused = read(reader)
		reader.CloseWithError(errReceived)
	})
	result, err := s.session.Exec(ctx, codex.Exec{Argv: command.Args, Doing: "packing the work", Env: command.Env, Timeout: harvestTime, MaxOutput: maxOutput, Stdout: writer})
	if err == nil && result.ExitCode != 0 {
		err = &git.Refusal{Reason: fmt.Sprintf("git cannot read the repository of the workspace (exit status %d): %s",
			result.ExitCode, text.Output(s.redact(result.Stderr), maxHookOutput))}
	}
	writer.CloseWithError(err) // nil means the end
	receiving.Wait()
	switch {
	case err == nil && errors.Is(refused, io.ErrUnexpectedEOF):
		return fmt.Errorf("take the agent's work: %w", errOutputLost)
	case err == nil || errors.Is(err, errReceived):
		return refused
	case errors.Is(err, codex.ErrExecTimeout):
		return &git.Refusal{Reason: fmt.Sprintf("it cannot be packed within %v: commit fewer files, and keep the history of the base", harvestTime), Err: err}
	}
	return err
}

// core is shared by the parts that work on the repository of an attempt.
type core struct {
	*sandbox
	repository *Repository // nil for an attempt without one
	workspaces *workspace.Root
}

// The names of networks: of hooks in the sandbox, and of setup.run.
const (
	hooksNetwork = "hooks"
	setupNetwork = "setup"
)

// networks returns the networks of programs of the host that have hosts, by their names. The
// others have the network of the agent. preparing says that setup.run runs on the base.
func networks(r *Repository, hooks codex.Network, preparing bool) map[string]codex.Network {
	all := map[string]codex.Network{}
	if r != nil && !r.TrustedHooks && len(hooks.Hosts) > 0 {
		all[hooksNetwork] = hooks
	}
	if s := r.setup(); s != nil && len(s.Network.Hosts) > 0 && (preparing || s.Online) {
		all[setupNetwork] = s.Network
	}
	return all
}
