package ssh

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/symphony-runner/symphony/internal/child"
	"github.com/symphony-runner/symphony/internal/text"
)

const (
	maxNoise   = 1 << 20     // bytes that a host may print before it answers
	leakTime   = time.Second // for what ssh started to close its stderr, once ssh has ended
	lostStatus = 255         // exit status of ssh for its own failures, and for a command that was killed
)

// Conn is a connection to this program on a host. Read reads its output and Write writes its input. Each
// Conn needs a Close, even if it has ended by itself.
type Conn struct {
	host    Host
	mark    mark
	command *exec.Cmd
	stdin   *os.File
	stdout  *os.File
	in      *bufio.Reader // of stdout
	stderr  *tail
	endTime time.Duration // for ssh to end by itself
	started bool          // the program there has been started

	reading sync.Mutex    // held by Read
	closing chan struct{} // closed by Close
	close   sync.Once
	ended   chan struct{} // closed when ssh has ended

	mu     sync.Mutex
	killed error // reason why ssh was killed; nil if it was not
}

// open starts ssh.
func open(host Host, m mark, command *exec.Cmd, endTime time.Duration, log *slog.Logger) (*Conn, error) {
	childIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childIn.Close()
	stdout, childOut, err := os.Pipe()
	if err != nil {
		stdin.Close()
		return nil, err
	}
	defer childOut.Close()
	c := &Conn{
		host: host, mark: m, command: command, stdin: stdin, stdout: stdout, in: bufio.NewReader(stdout), stderr: &tail{log: log},
		endTime: endTime, closing: make(chan struct{}), ended: make(chan struct{}),
	}
	command.Stdin, command.Stdout, command.Stderr = childIn, childOut, c.stderr
	command.WaitDelay = leakTime
	wait, err := child.Start(command)
	if err != nil {
		stdin.Close()
		stdout.Close()
		return nil, err
	}
	go func() { // ends with ssh, for which Close waits
		_ = wait() // Err reads the status
		close(c.ended)
	}()
	return c, nil
}

// kill ends ssh and all that it started, for a reason.
func (c *Conn) kill(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killed == nil && c.command.Process.Kill() == nil { // it fails once ssh has ended
		c.killed = reason
		_ = syscall.Kill(-c.command.Process.Pid, syscall.SIGKILL)
	}
}

// await returns the next answer of the script. late is the error if there is none in time.
func (c *Conn) await(ctx context.Context, limit time.Duration, late string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		c.kill(context.Cause(ctx))
		c.endRead()
	})
	answer, noise, err := c.nextAnswer()
	if err == io.EOF {
		<-c.ended
	}
	inTime := stop()
	switch {
	case !inTime && context.Cause(ctx) != errLate:
		return "", context.Cause(ctx)
	case !inTime:
		return "", c.host.fail(ErrUnreachable, late+quoted("it said", noise+c.stderr.String()))
	case err == errNoise:
		return "", c.host.fail(ErrRefused, "a login profile there prints more than 1 MB: let it print only on a terminal"+quoted("it said", noise))
	case err != nil:
		return "", c.endBeforeAnswer(noise)
	}
	return answer, nil
}

var (
	errLate  = errors.New("late")
	errNoise = errors.New("noise")
)

// nextAnswer reads until a line that begins with the mark, and returns the rest of it and the end of
// what came before. The error is [errNoise], or [io.EOF] at the end of ssh.
func (c *Conn) nextAnswer() (answer, noise string, err error) {
	var before tail
	begin := true // of a line
	for total := 0; total <= maxNoise; {
		part, err := c.in.ReadSlice('\n')
		if rest, ok := bytes.CutPrefix(part, []byte(c.mark+" ")); ok && begin && err == nil {
			return strings.TrimSpace(string(rest)), before.String(), nil
		}
		total += len(part)
		before.Write(part)
		if err != nil && err != bufio.ErrBufferFull {
			return "", before.String(), io.EOF
		}
		begin = err == nil
	}
	return "", before.String(), errNoise
}

// endBeforeAnswer returns the error of an ssh that has ended before the script answered.
func (c *Conn) endBeforeAnswer(noise string) error {
	status := c.command.ProcessState.ExitCode()
	if status < 0 || status > 128 { // killed here, for its own failure, or a shell that was killed there
		return c.Err()
	}
	return c.host.fail(ErrRefused, fmt.Sprintf("its login shell runs no command and ended with status %d: compare `%s true`", status, c.host.command())+quoted("it said", noise+c.stderr.String()))
}

// Read implements [io.Reader]. At the end it returns [io.EOF] if the program ended with status 0 or Close was
// called, else the error of [Conn.Err].
func (c *Conn) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.isClosing() {
		return 0, io.EOF
	}
	n, err := c.in.Read(p)
	if err == nil {
		return n, nil
	}
	select { // stdout ends a moment before ssh does
	case <-c.closing:
	case <-time.After(c.endTime):
	case <-c.ended:
		if err := c.Err(); err != nil && !c.isClosing() {
			return n, err
		}
	}
	return n, io.EOF
}

func (c *Conn) isClosing() bool {
	select {
	case <-c.closing:
		return true
	default:
		return false
	}
}

// endRead ends a read of stdout that waits, and all later ones.
func (c *Conn) endRead() { _ = c.stdout.SetReadDeadline(time.Unix(1, 0)) } // pipes have deadlines

// Write implements [io.Writer].
func (c *Conn) Write(p []byte) (int, error) { return c.stdin.Write(p) }

// Close ends the connection: the program there reads the end of its input, and a waiting Read returns. Close
// waits for ssh, and kills it and all that it started after [Dialer.EndTime].
func (c *Conn) Close() error {
	c.close.Do(func() {
		close(c.closing)
		c.stdin.Close()
		c.endRead()
		c.reading.Lock()
		_ = c.stdout.SetReadDeadline(time.Time{})
		c.reading.Unlock()
		var draining sync.WaitGroup // a program that blocks in a write may never read the end of its input
		draining.Go(func() { io.Copy(io.Discard, c.stdout) })
		select {
		case <-c.ended:
		case <-time.After(c.endTime):
			c.kill(c.host.fail(ErrUnreachable, "the program there did not end within "+text.Duration(c.endTime)))
			<-c.ended
		}
		c.stdout.Close()
		draining.Wait()
	})
	return nil
}

// Done returns a channel that is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.ended }

// Err waits for the end of the connection, and returns the reason: nil if the program there ended with status
// 0, else [ErrRefused] or [ErrUnreachable].
func (c *Conn) Err() error {
	<-c.ended
	c.mu.Lock()
	killed := c.killed
	c.mu.Unlock()
	status, said := c.command.ProcessState.ExitCode(), c.stderr.String()
	switch {
	case killed != nil:
		return killed
	case status == 0:
		return nil
	case status == 126 || status == 127:
		return c.host.fail(ErrRefused, "this program cannot be started there: what it needs, such as a loader or a permission, is missing"+quoted("it said", said))
	case status == lostStatus && !c.started:
		return c.host.explain(said)
	case status == lostStatus && said == "":
		return c.host.fail(ErrUnreachable, "the connection was lost: it answers no more, or the program there was killed")
	case status == lostStatus:
		return c.host.fail(ErrUnreachable, "the connection was lost"+quoted("it said", said))
	case status < 0:
		return c.host.fail(ErrUnreachable, "the connection was lost: ssh on this machine ended by "+c.command.ProcessState.String())
	}
	return c.host.fail(ErrUnreachable, fmt.Sprintf("the program there ended with status %d", status)+quoted("it said", said))
}
