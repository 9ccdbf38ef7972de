package scriptedagent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/symphony-runner/symphony/codex/scriptedagent"
)

// Options are the parameters of Serve besides its two streams.
type Options struct {
	Home    string
	Config  []string
	Unknown []string // methods that the agent does not know, as an older Codex
}

// ExitError is the error of Serve when the script ends the process. The caller exits
// with the code.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("the script exits with code %d", e.Code) }

// Main runs the agent as a process of its own, on its standard streams, and returns its exit
// status.
func Main(in io.Reader, out, errs io.Writer, o Options) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := Serve(ctx, in, out, o)
	if exit, ok := errors.AsType[*ExitError](err); ok {
		return exit.Code
	}
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}

// Serve runs the agent with all steps.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	e := &end{Reader: in, ctx: ctx, reached: make(chan struct{})}
	l := &lines{end: e, waiting: make(chan []byte, 64), written: make(chan struct{})}
	go l.pass(out)
	defer l.flush()
	r := &refusals{unknown: o.Unknown}
	ignore := func(context.Context, *turn, []string) error {
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		e.ignored.Store(true)
		return nil
	}
	return scriptedagent.Serve(ctx, e, l, scriptedagent.Options{
		Home: o.Home, Config: o.Config, Refuse: r.refuse,
		Verbs: append(verbs(), scriptedagent.Verb{Pattern: ignoreVerb, Run: ignore}),
	})
}

const ignoreVerb = "Ignore signals and EOF"

// end is an input whose end can be ignored.
type end struct {
	io.Reader
	ctx     context.Context
	ignored atomic.Bool
	reached chan struct{}
}

func (e *end) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err != nil {
		if e.ignored.Load() {
			<-e.ctx.Done()
		}
		close(e.reached)
	}
	return n, err
}

// lines is an output whose lines a goroutine of its own writes, so that a client which has
// stopped reading cannot keep the agent from ending.
type lines struct {
	end     *end
	waiting chan []byte
	written chan struct{} // closed when all is written
}

func (l *lines) Write(line []byte) (int, error) {
	select {
	case l.waiting <- line:
		return len(line), nil
	default:
	}
	select {
	case l.waiting <- line:
	case <-l.end.reached:
	case <-l.end.ctx.Done():
	}
	return len(line), nil
}

func (l *lines) pass(out io.Writer) {
	defer close(l.written)
	b := bufio.NewWriter(out) // keeps its first error: later lines go nowhere
	for line := range l.waiting {
		b.Write(line)
		if len(l.waiting) == 0 {
			b.Flush()
		}
	}
}

// flush waits until all is written, but not long for a client that has stopped reading.
func (l *lines) flush() {
	close(l.waiting)
	select {
	case <-l.written:
	case <-time.After(time.Second):
	}
}
