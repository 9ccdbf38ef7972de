package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/symphony-runner/symphony/internal/child"
)

// Environment variables that mark the processes of a session: one identifies the
// session, the other the workspace, by which the next run finds the processes that a
// killed run left.
const (
	sessionMark   = "SYMPHONY_SESSION="
	workspaceMark = "SYMPHONY_WORKSPACE="
)

// session is a running `bash -lc`, the leader, and all processes that it starts.
type session struct {
	id     string // value of its sessionMark
	root   *Root
	ws     Workspace
	grace  Grace
	log    atomic.Pointer[slog.Logger]
	leader int // process id, which is also the id of its process group and session
	output *tail

	wasIdle bool // the workspace was idle before the session

	exited  chan struct{} // closed when the leader has been reaped
	done    chan struct{} // closed later, when its descendants are dead and its output has been read
	exitErr error         // nil for exit status 0, else usually an *ExitError; valid after done
	killErr error         // descendants that could not be killed; valid after done
}

// launchOptions are the parameters of a new session.
type launchOptions struct {
	ws     Workspace
	script string
	extra  []string // see Env.forChild
	set    []string // our own variables, as NAME=value
	stdin  *os.File
	stdout *os.File // if nil, stdout goes where stderr goes
	reader pipe     // the other end of stdout, which expires with the session; the zero pipe without stdout
	log    *slog.Logger
}

// launch verifies the working directory and starts a session there. Its stderr is
// collected in session.output. The caller waits for done or calls terminate, and then
// calls session.markIdle.
func (r *Root) launch(ctx context.Context, l launchOptions) (*session, error) {
	select {
	case <-r.Killed:
		return nil, ErrKilled
	default:
	}
	dir, err := r.openVerified(l.ws)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	stderr, childErr, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childErr.Close()
	s := &session{
		id: rand.Text(), root: r, ws: l.ws, grace: r.Grace, output: newTail(),
		exited: make(chan struct{}), done: make(chan struct{}),
	}
	s.log.Store(l.log)
	env := append(r.env.forChild(l.extra), sessionMark+s.id, workspaceMark+r.workspace(l.ws.Issue).Path, "PWD="+l.ws.Path)
	cmd := &exec.Cmd{
		Path: r.bash, Args: []string{"bash", "-lc", r.env.afterProfile() + l.script},
		Dir: childDir(dir, l.ws.Path), Env: append(env, l.set...),
		Stdin: l.stdin, Stdout: l.stdout, Stderr: childErr,
	}
	if l.stdout == nil {
		cmd.Stdout = childErr
	}
	if s.wasIdle, err = r.markBusy(l.ws); err != nil {
		stderr.Close()
		return nil, err
	}
	wait, err := child.Start(cmd)
	if err != nil {
		stderr.Close()
		if s.wasIdle {
			r.markIdle(l.ws)
		}
		return nil, fmt.Errorf("start bash in %s: %w", l.ws.Path, err)
	}
	s.leader = cmd.Process.Pid
	go s.supervise(context.WithoutCancel(ctx), wait, pipe{stderr}, l.reader)
	return s, nil
}

// supervise waits for the end of the leader and closes done.
func (s *session) supervise(ctx context.Context, wait func() error, stderr, stdout pipe) {
	defer stderr.f.Close()
	var collecting sync.WaitGroup
	collecting.Go(func() { s.output.collect(ctx, stderr, s.log.Load()) })
	if s.root.Killed != nil {
		go s.obeyKill()
	}

	waited := wait()
	close(s.exited)
	s.killErr = s.killRemaining()
	stderr.expire()
	stdout.expire()
	collecting.Wait()
	s.exitErr = waited
	if failed := (*exec.ExitError)(nil); errors.As(waited, &failed) {
		s.exitErr = newExitError(failed.ProcessState, s.output.String())
	}
	close(s.done)
}

func newExitError(state *os.ProcessState, output string) *ExitError {
	e := &ExitError{Code: state.ExitCode(), Output: output}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = status.Signal()
	}
	return e
}

// terminate ends the session: it waits for patience, sends SIGTERM to the leader's
// process group, waits, and sends SIGKILL. It returns when no process of the session
// is alive, at the latest after patience + Term + 2 Kill. The error is
// [ErrUnresponsive].
func (s *session) terminate(ctx context.Context, patience time.Duration) error {
	if s.doneWithin(patience) {
		return s.killErr
	}
	s.signal(syscall.SIGTERM)
	s.signal(syscall.SIGCONT) // so that a stopped process receives its SIGTERM
	if s.doneWithin(s.grace.Term) {
		return s.killErr
	}
	s.log.Load().WarnContext(ctx, "process killed: it does not end by itself", "pid", s.leader)
	s.signal(syscall.SIGKILL)
	if s.doneWithin(2 * s.grace.Kill) {
		return s.killErr
	}
	return fmt.Errorf("end process %d in %s: %w: SIGKILL has no effect; see `ps -o stat,wchan -p %[1]d`", s.leader, s.ws.Path, ErrUnresponsive)
}

func (s *session) obeyKill() {
	select {
	case <-s.root.Killed:
		s.signal(syscall.SIGKILL)
	case <-s.exited:
	}
}

// markIdle marks the workspace as idle if the session has ended, all its processes are
// dead, and the workspace was idle before. The caller of launch calls it: a session
// that terminate could not end may end by itself while the next one runs, and must not
// mark the workspace then.
func (s *session) markIdle() {
	select {
	case <-s.done:
		if s.wasIdle && s.killErr == nil {
			s.root.markIdle(s.ws)
		}
	default:
	}
}

func (s *session) doneWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.done:
		return true
	case <-timer.C:
		return false
	}
}

// signal signals the leader's process group while the leader exists: after that its
// id may belong to another process.
func (s *session) signal(sig syscall.Signal) {
	select {
	case <-s.exited:
	default:
		syscall.Kill(-s.leader, sig)
	}
}
