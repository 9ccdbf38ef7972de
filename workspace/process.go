package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/internal/text"
)

// Process is a running agent. Read reads its stdout and Write writes its stdin,
// both without a copy in between, so a Process can be the connection of a protocol.
// Each Start needs a Stop, even if the agent has ended by itself.
type Process struct {
	session *session
	command string
	stdin   *os.File
	stdout  pipe
	closed  atomic.Bool
	stop    sync.Once
	stopErr error
}

// Start runs `bash -lc command` in the workspace (SPEC §10.1) in a session of its own. Extra
// environment variables are given as NAME, to pass ours on, or as NAME=value. ctx bounds only
// the start; the agent runs until Stop. The errors are [ErrInvalidCwd] and errors of the
// system.
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
	s, err := r.launch(ctx, launchOptions{
		ws: ws, script: r.cfg.Limits.ulimitScript() + command, extra: append([]string{"CODEX_HOME"}, extra...),
		stdin: childIn, stdout: childOut, reader: pipe{stdout}, log: r.issueLogger(ws),
	})
	if err != nil {
		stdin.Close()
		stdout.Close()
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	return &Process{session: s, command: command, stdin: stdin, stdout: pipe{stdout}}, nil
}

// Read reads the agent's stdout. It returns io.EOF when the agent has ended and
// everything it wrote has been read, and immediately after Close.
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

// Close closes the connection: the agent reads the end of its input, and a waiting
// Read returns. Close does not wait for the agent to end; Stop does.
func (p *Process) Close() error {
	if p.closed.Swap(true) {
		return nil
	}
	p.stdout.expire()
	return p.stdin.Close()
}

// PID returns the process id of the agent, which is also the id of its process
// group and session.
func (p *Process) PID() int { return p.session.leader }

// Stderr returns the end of the agent's standard error, up to 2 KiB, in one line that is safe
// to log. Each line is also logged at debug level.
func (p *Process) Stderr() string { return p.session.output.String() }

// Done returns a channel that is closed when the agent has ended and every process
// it started is dead.
func (p *Process) Done() <-chan struct{} { return p.session.done }

// notFound matches a shell's message about a program that it does not find.
var notFound = lazy.Regexp(`(\S+): (?:command )?not found`)

// missingProgram returns the program of a command that the shell did not find or may not run.
// If the shell does not say so, it is the first word of the command's last line.
func missingProgram(command, output string) string {
	program, verb := "the command", "cannot be run"
	lines := strings.Split(strings.TrimSpace(command), "\n")
	if words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(lines[len(lines)-1]), "exec ")); len(words) > 0 {
		program = words[0]
	}
	if said := notFound().FindStringSubmatch(output); said != nil {
		program, verb = said[1], "is not found"
	}
	return text.OneLine(program, maxProgram) + " " + verb
}

// maxProgram bounds the name of a program in an error, in runes.
const maxProgram = 100

// Err waits for Done and returns the outcome of the agent: nil for exit status 0, else an
// [*ExitError], which is also [ErrNotFound] when the shell did not find the command or may not
// run it.
func (p *Process) Err() error {
	<-p.session.done
	var exit *ExitError
	if errors.As(p.session.exitErr, &exit) && (exit.Code == 126 || exit.Code == 127) {
		return fmt.Errorf("%w: %s where `bash -lc 'echo $PATH'` looks: npm install --global @openai/codex, or give codex.command an absolute path: %w",
			ErrNotFound, missingProgram(p.command, exit.Output), exit)
	}
	return p.session.exitErr
}

// SetLogger replaces the logger for the end of the agent, when the caller knows more about
// the session than it did at Start.
func (p *Process) SetLogger(log *slog.Logger) { p.session.log.Store(log) }

// Stop ends the agent: it closes its stdin, waits, sends SIGTERM to its process
// group, waits, sends SIGKILL, and kills and reaps everything the agent started.
// When it returns nil, none of these processes is alive. [Root.Grace] sets the
// waits, 5 s in total by default. They do not end with ctx, because a stop has to
// be completed; ctx is used only for the log. Stop may be called at any time, more
// than once, and concurrently. The error is [ErrUnresponsive].
func (p *Process) Stop(ctx context.Context) error {
	p.stop.Do(func() {
		p.Close()
		p.stdout.resume()
		var draining sync.WaitGroup // an agent that blocks in a write may never read the end of its input
		draining.Go(func() { io.Copy(io.Discard, p.stdout) })
		p.stopErr = p.session.terminate(ctx, p.session.grace.EOF)
		p.session.markIdle()
		p.stdout.f.Close()
		draining.Wait()
	})
	return p.stopErr
}

// Alive reports whether a process with this id exists on this machine, under any
// user.
func Alive(pid int) bool {
	if pid <= 0 {
		return false // kill(2) takes it for a process group
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Limits are the resource limits (setrlimit(2)) of the processes of one agent. Zero
// leaves a limit as it is. The agent cannot raise them again.
type Limits struct {
	// Processes bounds the number of all processes and threads of our user: at the
	// bound the agent cannot start another one. The superuser has no such bound.
	Processes int
	OpenFiles int // open files of one process
	// Memory bounds what one process may allocate, in MiB (Linux), or is [DefaultMemory].
	// Programs that reserve much more than they use, such as those built with an address
	// sanitizer, do not start under any bound.
	Memory int
}

// DefaultMemory stands in [Limits] for three quarters of the memory of this machine, or of
// the container: a process that needs more harms the other sessions. The share of a slot would
// be too little for a compiler. It is the soft limit, which a program that reserves more can
// raise: ulimit -d unlimited.
const DefaultMemory = -1

// raiseOOMScore is a line of shell that makes the kernel kill a process of the agent
// rather than us when the machine is out of memory (Linux,
// proc_pid_oom_score_adj(5)).
const raiseOOMScore = "{ echo 500 > /proc/self/oom_score_adj; } 2>/dev/null\n"

// ulimitScript returns the lines of shell that apply the limits to all later
// commands. A limit that is already lower stays as it is.
func (l Limits) ulimitScript() string {
	var b strings.Builder
	b.WriteString(raiseOOMScore)
	set := func(flag string, resource, limit, unit int) {
		var have syscall.Rlimit
		if limit <= 0 || resource < 0 {
			return
		}
		if syscall.Getrlimit(resource, &have) == nil && have.Max <= math.MaxInt64 {
			limit = min(limit, int(have.Max)/unit)
		}
		// Set only the hard limit. That fails if the soft one is higher: then set both.
		fmt.Fprintf(&b, "ulimit -H%s %d 2>/dev/null || ulimit -%[1]s %[2]d 2>/dev/null\n", flag, limit)
	}
	set("n", syscall.RLIMIT_NOFILE, l.OpenFiles, 1)
	set("u", limitProcesses, l.Processes, 1)
	set("d", syscall.RLIMIT_DATA, l.Memory*1024, 1024)
	if l.Memory == DefaultMemory {
		b.WriteString(memoryScript())
	}
	return b.String()
}

// memoryScript returns the line of shell that applies [DefaultMemory]; empty where the memory
// is not known, or a lower limit is set.
func memoryScript() string {
	bound := machineMemory() / 4 * 3
	var have syscall.Rlimit
	if bound == 0 || syscall.Getrlimit(syscall.RLIMIT_DATA, &have) != nil || have.Cur <= bound {
		return ""
	}
	return fmt.Sprintf("ulimit -Sd %d 2>/dev/null\n", bound/1024)
}
