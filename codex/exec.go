package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

const (
	defaultExecTime   = 2 * time.Minute
	defaultExecOutput = 1 << 20
	// execGrace bounds the time in which the server kills a program after its timeout, and
	// answers.
	execGrace = 10 * time.Second
	// killWait is the same for a program that was terminated, and killPause the time
	// before the server is asked again: at first it may not have started the program.
	killWait  = 2 * time.Second
	killPause = 100 * time.Millisecond
)

// modelKeys are the variables in which people keep the key of a model. A program of
// the host never gets them.
var modelKeys = []string{"CODEX_API_KEY", "OPENAI_API_KEY", "CODEX_ACCESS_TOKEN", "CODEX_HOME"}

// Exec describes a program of the host's choice that runs inside the agent's sandbox.
type Exec struct {
	Argv      []string      // the program and its arguments
	Doing     string        // work of the program in words for people, such as "packing the work"; empty for its command line
	Env       []string      // NAME=value, besides the environment of the app-server
	Inherit   []string      // names of Config.Env that the program gets; it gets no others of them
	Timeout   time.Duration // longest run; not positive means two minutes
	MaxOutput int           // bytes of standard output, and of standard error; not positive means 1 MiB

	// Dir is the real path of the folder in which the program runs and which it may write in
	// place of the workspace; empty means the workspace.
	Dir string

	// Network is the name in Options.Networks of the hosts that the program reaches. Empty
	// means the hosts of the turns, Options.Network.
	Network string
	probing bool // it is the probe of its network

	Terminal *Terminal // nil for none: then the program has nothing to read

	// Stdout receives the standard output, in order, on the goroutine that called Exec.
	// Exec returns only after Write has returned. A writer that is so slow that 32 MiB
	// wait for it ends the program. nil drops the output.
	//
	// The end can be missing without an error: two seconds after the program ended, Codex drops
	// the part that a busy machine has not read yet, at most a few MiB. Output in which that
	// matters has to mark its end, as a pack of git does.
	Stdout io.Writer
	Stderr io.Writer // receives standard error, as Stdout does; nil keeps its end alone
}

// ExecResult describes a program that ran to its own end.
type ExecResult struct {
	ExitCode int
	Stderr   string // the end of standard error, without control characters except line ends
}

// ExecError is a program that did not run to its own end, or whose output is not
// whole. The output that Stdout has received is not to be used.
type ExecError struct {
	Category error  // ErrExecTimeout, ErrExecStart, ErrExecKilled or ErrExecOutput
	Program  string // the first word of Argv
	Reason   string
	Stderr   string // the same as in ExecResult
	Cause    error  // error of a writer that failed; nil for none
}

func (e *ExecError) Error() string {
	s := fmt.Sprintf("run %s in the sandbox: %v: %s", text.OneLine(e.Program, summaryRunes), e.Category, e.Reason)
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	if said := text.OneLine(e.Stderr, messageRunes); said != "" {
		s += ": " + said
	}
	return s
}

func (e *ExecError) Unwrap() []error {
	if e.Cause != nil {
		return []error{e.Category, e.Cause}
	}
	return []error{e.Category}
}

const execMethod = "command/exec"

// programs runs programs of the host that [sandbox] has admitted.
type programs struct {
	*core
	running map[string]*execOutput // outputs by the id of their program; core.mu guards it
	last    int                    // the number of the last one; core.mu guards it
}

// execParams are the parameters of command/exec.
type execParams struct {
	Command    []string           `json:"command"`
	Cwd        string             `json:"cwd"`
	Env        map[string]*string `json:"env"`
	Profile    string             `json:"permissionProfile"`
	ProcessID  string             `json:"processId"`
	Stdin      bool               `json:"streamStdin,omitempty"`
	TTY        bool               `json:"tty,omitempty"`
	Size       *Size              `json:"size,omitempty"`
	Stream     bool               `json:"streamStdoutStderr"`
	TimeoutMS  int64              `json:"timeoutMs"`
	OutputSize int                `json:"outputBytesCap"`
}

// params returns the parameters of a run. The cap is one byte more than the program
// may write, because Codex reports the cap as reached when the output just fits.
func (p *programs) params(x Exec, id string) execParams {
	params := execParams{
		Command: x.Argv, Cwd: x.Dir, Env: p.env(x), Profile: p.o.profileIn(x.Network), ProcessID: id, Stream: true,
		TimeoutMS: x.Timeout.Milliseconds(), OutputSize: x.MaxOutput + 1,
	}
	if x.Terminal != nil {
		params.Stdin, params.TTY, params.Size = true, true, &x.Terminal.Size
	}
	return params
}

// env returns the changes of the environment of the app-server, all of which a
// program inherits. nil unsets a variable.
func (p *programs) env(x Exec) map[string]*string {
	env := map[string]*string{}
	if p.o.Shared != "" {
		env = p.server.shared.environment(p.o, x.Inherit)
	}
	for _, name := range slices.Concat(modelKeys, p.o.Config.Env) {
		if !slices.Contains(x.Inherit, name) {
			env[name] = nil
		}
	}
	if p.o.Temp != "" {
		env["TMPDIR"] = &p.o.Temp
	}
	for name, value := range p.o.variables(x.Network) {
		env[name] = &value
	}
	for _, assignment := range x.Env {
		if name, value, ok := strings.Cut(assignment, "="); ok {
			env[name] = &value
		}
	}
	return env
}

// run runs a program and passes its output on, until the server has answered and
// everything is written.
func (p *programs) run(ctx context.Context, x Exec) (ExecResult, error) {
	run := newExecOutput(x.MaxOutput, x.Stderr != nil)
	p.mu.Lock()
	p.last++
	id := fmt.Sprintf("exec-%d", p.last)
	p.running[id] = run
	p.mu.Unlock()
	defer p.remove(id)
	what := cmp.Or(x.Doing, "the host runs `"+strings.Join(x.Argv, " ")+"`")
	p.emit(Event{Kind: Notification, Method: execMethod, Summary: what, Doing: what, Progress: true})

	var wg sync.WaitGroup
	var reply execReply
	var callErr error
	answered := make(chan struct{})
	began := time.Now()
	callCtx, giveUp := context.WithCancelCause(context.WithoutCancel(ctx)) // a stop ends the program first
	defer giveUp(nil)
	wg.Go(func() {
		defer close(answered)
		callErr = p.conn.call(callCtx, x.Timeout+execGrace, execMethod, p.params(x, id), func(result json.RawMessage) error {
			p.remove(id) // output that arrives after the answer belongs to no program
			return json.Unmarshal(result, &reply)
		})
	})
	wg.Go(func() { // a writer that blocks must not delay the end of the program
		select {
		case <-ctx.Done():
		case <-run.refused:
		case <-answered:
			return
		}
		giveUp(p.terminate(callCtx, id, answered))
	})
	if x.Terminal != nil {
		go p.sendKeys(callCtx, id, x.Terminal.Keys, run, answered) // a Read that waits may outlive the program
	}
	run.drain(x.Stdout, x.Stderr, answered)
	wg.Wait()

	fail := func(category error, format string, args ...any) (ExecResult, error) {
		return ExecResult{}, &ExecError{Category: category, Program: x.Argv[0], Reason: fmt.Sprintf(format, args...), Stderr: run.stderrTail()}
	}
	switch refusal := run.failure(); {
	case refusal != nil:
		refusal.Program, refusal.Stderr = x.Argv[0], run.stderrTail()
		return ExecResult{}, refusal
	case ctx.Err() != nil && (callErr != nil || reply.ExitCode != 0):
		return ExecResult{}, context.Cause(ctx)
	case callErr != nil:
		return ExecResult{}, execRefusal(callErr)
	case reply.Stdout != "":
		return fail(ErrExecOutput, "Codex does not stream the output, which damages it: install Codex 0.169 or later")
	case reply.ExitCode == exitTimeout && time.Since(began) >= x.Timeout:
		return fail(ErrExecTimeout, "not done after %v", x.Timeout)
	case reply.ExitCode == exitPanic && run.notStarted():
		return fail(ErrExecStart, "the program does not exist or may not be run, or the sandbox cannot be set up for this workspace")
	case reply.ExitCode == 1 && run.notStarted():
		return fail(ErrExecStart, "the sandbox cannot be set up for this workspace")
	case reply.ExitCode == exitKilled || reply.ExitCode < 0:
		return fail(ErrExecKilled, "something killed it, such as a lack of memory")
	}
	return ExecResult{ExitCode: reply.ExitCode, Stderr: run.stderrTail()}, nil
}

// The exit codes by which Codex reports that a program did not exit by itself. A program
// may also use them itself.
const (
	exitPanic   = 101 // exit status of the sandbox's own helper
	exitTimeout = 124
	exitKilled  = 137
)

// execReply is the answer to command/exec. Both texts are empty when the output is streamed.
type execReply struct {
	ExitCode       int
	Stdout, Stderr string
}

// execRefusal returns the error of a call that the server refused. Its refusal of the
// profile is ErrNoExec.
func execRefusal(err error) error {
	refused, ok := errors.AsType[*ResponseError](err)
	if ok && (refused.unknown() || strings.Contains(refused.Message, "permission")) {
		return fmt.Errorf("%w: %s: %w", ErrNoExec, execAdvice, err)
	}
	return err
}

// terminate has the server kill a program and waits until it has answered for it. It
// gives up after killWait.
func (p *programs) terminate(ctx context.Context, id string, answered <-chan struct{}) error {
	ctx, cancel := context.WithTimeoutCause(ctx, killWait,
		fmt.Errorf("%w: Codex does not say that the program was killed: end the session", ErrResponseTimeout))
	defer cancel()
	for {
		refused, err := p.conn.ask(ctx, "command/exec/terminate", map[string]string{"processId": id}, answered)
		if !refused {
			return err // the program has ended, with the connection if there is an error
		}
		select {
		case <-time.After(killPause):
		case <-answered:
			return nil
		}
	}
}

// remove drops a program: output under its id is ignored from now on.
func (p *programs) remove(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, id)
}

// onOutput passes on a piece of output, on the read loop. It does not wait for the
// writer. It fails if the piece cannot be understood, which ends the program too:
// output with a gap is worth nothing.
func (p *programs) onOutput(params json.RawMessage) error {
	var piece execDelta
	err := json.Unmarshal(params, &piece)
	p.mu.Lock()
	run := p.running[piece.ProcessID]
	p.mu.Unlock()
	if run == nil {
		return err
	}
	if err == nil {
		err = run.add(piece)
	}
	if err != nil {
		run.refuse(ErrExecOutput, "a piece of the output cannot be understood", err)
	}
	return err
}

// CleanTerminals kills the commands that the agent left running on the thread. The
// server answers when it has sent the signals, so they may live for some milliseconds
// more. A turn must not be in progress, because it could start others.
func (c *core) CleanTerminals(ctx context.Context) error {
	return c.cleanTerminals(ctx, c.ThreadID())
}

// cleanTerminals kills the commands that were left running on a thread; none if it is "".
func (c *core) cleanTerminals(ctx context.Context, thread string) error {
	if thread == "" {
		return nil
	}
	const method = "thread/backgroundTerminals/clean"
	err := c.conn.call(ctx, max(c.o.Config.ReadTimeout, execGrace), method, map[string]string{"threadId": thread}, nil)
	if err != nil {
		return fmt.Errorf("end the agent's background commands: %w", execRefusal(err))
	}
	return nil
}
