package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
)

// Process is a running agent. Read is its stdout and Write its stdin, both
// without a copy in between, so it can be the connection of a protocol. Each
// Start needs a Stop, also when the agent has ended by itself.
type Process struct {
	session *session
	command string
	stdin   *os.File
	stdout  pipe
	closed  atomic.Bool
	stop    sync.Once
	stopErr error
}

// Start runs `bash -lc command` in the workspace (SPEC §10.1) in a session of
// its own. Extra environment variables are given as NAME, to pass ours on, or as
// NAME=value. ctx bounds the start alone; the agent lives until Stop. The errors
// are [ErrInvalidCwd] and those of the system.
func (r *Root) Start(ctx context.Context, ws Workspace, command string, extra []string) (*Process, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	childIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	defer childIn.Close()
	stdout, childOut, err := os.Pipe()
	if err != nil {
		stdin.Close()
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	defer childOut.Close()
	s, err := r.launch(ctx, launch{
		ws: ws, script: r.cfg.Limits.script() + command, extra: append([]string{"CODEX_HOME"}, extra...),
		stdin: childIn, stdout: childOut, reader: pipe{stdout}, log: r.issueLog(ws),
	})
	if err != nil {
		stdin.Close()
		stdout.Close()
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	return &Process{session: s, command: command, stdin: stdin, stdout: pipe{stdout}}, nil
}

// Read reads the agent's stdout. It gives io.EOF after the agent's end, when
// everything it wrote has been read, and at once after Close.
func (p *Process) Read(b []byte) (int, error) {
	if p.closed.Load() {
		return 0, io.EOF
	}
	n, err := p.stdout.Read(b)
	if p.closed.Load() {
		return 0, io.EOF
	}
	return n, err
}

// Write writes to the agent's stdin.
func (p *Process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// Close hangs up: the agent reads the end of its input, and a Read that waits
// returns. It does not wait for the agent to end; that is Stop.
func (p *Process) Close() error {
	if p.closed.Swap(true) {
		return nil
	}
	p.stdout.release()
	return p.stdin.Close()
}

// PID is the process id of the agent, which is also that of its group and session.
func (p *Process) PID() int { return p.session.leader }

// Stderr is the end of what the agent wrote to stderr, up to 2 KiB, in one line
// that is safe to log. Each line is also logged at debug level.
func (p *Process) Stderr() string { return p.session.output.String() }

// Done is closed when the agent has ended and everything it started is dead.
func (p *Process) Done() <-chan struct{} { return p.session.done }

// Err waits for Done and says how the agent ended: nil for exit status 0, else an
// [*ExitError], which is also [ErrNotFound] when the shell did not find the command
// or may not run it.
func (p *Process) Err() error {
	<-p.session.done
	var exit *ExitError
	if errors.As(p.session.err, &exit) && (exit.Code == 126 || exit.Code == 127) {
		return fmt.Errorf("run %q: %w: %w; the PATH of the login shell counts: check `bash -lc 'command -v codex; echo $PATH'`, then install codex there or give codex.command an absolute path",
			p.command, ErrNotFound, exit)
	}
	return p.session.err
}

// Log replaces the log for what the end of the agent is worth saying: by then it is
// known which session of the agent's it is.
func (p *Process) Log(log *slog.Logger) { p.session.log.Store(log) }

// Stop ends the agent: it closes its stdin, waits, sends SIGTERM to its group,
// waits, sends SIGKILL, and kills and reaps everything the agent started. When
// it returns nil, nothing of it is alive. The waits are [Root.Grace], 5 s in all
// by default, whether or not ctx is done: a stop has to be carried through, and
// ctx is for the log alone. It may be called at any time, by anybody, more than
// once. The error is [ErrUnresponsive].
func (p *Process) Stop(ctx context.Context) error {
	p.stop.Do(func() {
		p.Close()
		p.stdout.hold()
		var draining sync.WaitGroup // an agent that cannot write may not come to read its end of input
		draining.Go(func() { io.Copy(io.Discard, p.stdout) })
		p.stopErr = p.session.end(ctx, p.session.grace.EOF)
		p.session.rest()
		p.stdout.f.Close()
		draining.Wait()
	})
	return p.stopErr
}
