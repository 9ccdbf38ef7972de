package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// The marks by which the processes of a session, and those of a workspace that
// an earlier run of ours left, are known.
const (
	sessionMark   = "SYMPHONY_SESSION="
	workspaceMark = "SYMPHONY_WORKSPACE="
)

// session is a running `bash -lc` and everything it starts.
type session struct {
	id     string // value of its mark
	root   *Root
	ws     Workspace
	grace  Grace
	log    atomic.Pointer[slog.Logger]
	leader int // process id, also of its group and session
	output tail

	wasAtRest bool // the workspace, before the session

	exited chan struct{} // closed when the leader has been reaped
	done   chan struct{} // closed after that, when all it left is dead and its output is read
	err    error         // how the leader ended: nil for status 0, else usually an *ExitError; set before done
	left   error         // what could not be killed; set before done
}

// launch says what a session runs.
type launch struct {
	ws     Workspace
	script string
	extra  []string // see Env.child
	set    []string // our own variables, as NAME=value
	stdin  *os.File
	stdout *os.File // nil: together with stderr
	reader pipe     // the other end of stdout, released at the end; the zero pipe without stdout
	log    *slog.Logger
}

// launch starts a session whose working directory has been checked and whose
// stderr goes to its output. The caller waits for done, or ends it.
func (r *Root) launch(ctx context.Context, l launch) (*session, error) {
	dir, err := r.enter(l.ws)
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
		id: rand.Text(), root: r, ws: l.ws, grace: r.Grace,
		exited: make(chan struct{}), done: make(chan struct{}),
	}
	s.log.Store(l.log)
	env := append(r.env.child(l.extra), sessionMark+s.id, workspaceMark+l.ws.Path, "PWD="+l.ws.Path)
	cmd := &exec.Cmd{
		Path: r.bash, Args: []string{"bash", "-lc", r.env.unset() + l.script},
		Dir: folderPath(dir, l.ws.Path), Env: append(env, l.set...),
		Stdin: l.stdin, Stdout: l.stdout, Stderr: childErr,
		SysProcAttr: childAttr(),
	}
	if l.stdout == nil {
		cmd.Stdout = childErr
	}
	if s.wasAtRest, err = r.begin(l.ws); err != nil {
		stderr.Close()
		return nil, err
	}
	started := make(chan error)
	go s.run(context.WithoutCancel(ctx), cmd, started, pipe{stderr}, l.reader)
	if err := <-started; err != nil {
		if s.wasAtRest {
			r.rest(l.ws)
		}
		return nil, fmt.Errorf("start bash in %s: %w", l.ws.Path, err)
	}
	return s, nil
}

// run is the life of a session, waited for by done. It keeps one thread for the
// whole life of the leader: the kernel signals our death to the leader (see
// childAttr) when the thread that started it ends. Waiting takes a thread anyway.
func (s *session) run(ctx context.Context, cmd *exec.Cmd, started chan<- error, stderr, stdout pipe) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer stderr.f.Close()
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	s.leader = cmd.Process.Pid
	started <- nil
	var collecting sync.WaitGroup
	collecting.Go(func() { s.output.collect(ctx, stderr, s.log.Load()) })

	waited := cmd.Wait()
	close(s.exited)
	s.left = s.sweep()
	stderr.release()
	stdout.release()
	collecting.Wait()
	s.err = waited
	if failed := (*exec.ExitError)(nil); errors.As(waited, &failed) {
		s.err = exitError(failed.ProcessState, s.output.String())
	}
	close(s.done)
}

func exitError(state *os.ProcessState, output string) *ExitError {
	e := &ExitError{Code: state.ExitCode(), Output: output}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = status.Signal()
	}
	return e
}

// end ends the session: it waits a while for it to end by itself, sends SIGTERM
// to the leader's group, waits, and sends SIGKILL. It returns when nothing of the
// session is alive, at the latest after patience + Term + 2 Kill. The error is
// [ErrUnresponsive].
func (s *session) end(ctx context.Context, patience time.Duration) error {
	if s.wait(patience) {
		return s.left
	}
	s.signal(syscall.SIGTERM)
	s.signal(syscall.SIGCONT) // a stopped process gets its SIGTERM too
	if s.wait(s.grace.Term) {
		return s.left
	}
	s.log.Load().WarnContext(ctx, "process killed: it does not end by itself", "pid", s.leader)
	s.signal(syscall.SIGKILL)
	if s.wait(2 * s.grace.Kill) {
		return s.left
	}
	return fmt.Errorf("end process %d in %s: %w: SIGKILL has no effect; see `ps -o stat,wchan -p %[1]d`", s.leader, s.ws.Path, ErrUnresponsive)
}

// rest notes that the workspace is at rest again, if nothing of the session is left
// and no earlier one left anything. Whoever launched the session calls it, after the
// end: one that outlives the patience of its launcher may end while the next one runs.
func (s *session) rest() {
	select {
	case <-s.done:
		if s.wasAtRest && s.left == nil {
			s.root.rest(s.ws)
		}
	default:
	}
}

func (s *session) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.done:
		return true
	case <-timer.C:
		return false
	}
}

// signal signals the leader's group, as long as there is a leader: after that
// its number may be another's.
func (s *session) signal(sig syscall.Signal) {
	select {
	case <-s.exited:
	default:
		syscall.Kill(-s.leader, sig)
	}
}
