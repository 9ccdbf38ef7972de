package codextest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
)

// AgentOptions are what a scripted agent has besides its two streams.
type AgentOptions struct {
	// Home is the folder where threads are remembered, as CODEX_HOME is for
	// Codex. When empty, a thread ends with the process.
	Home string

	// Log gets what Codex says on standard error, such as lines that are not
	// JSON. Nothing is logged when nil.
	Log *slog.Logger
}

// ExitError is returned by Serve when the script ends the process. The caller
// exits with the code.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("the script exits with code %d", e.Code) }

// Serve is the scripted agent: it answers a client on in and out until in ends
// (nil), the script exits (*ExitError) or ctx is done (its cause). It then
// stops the turns and kills the commands that run. Only a read from in may
// outlive it, until in ends, and a write that the client never takes.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o AgentOptions) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancelCause(ctx)
	w := newWire(ctx, in, out)
	a := &agent{wire: w, home: o.Home, log: o.Log, stop: stop, threads: make(map[string]*thread)}
	defer a.close()
	lines := w.in
	for {
		select {
		case line, ok := <-lines:
			switch {
			case ok:
				a.receive(ctx, line)
			case a.deaf.Load():
				lines = nil
			default:
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// agent is one app-server. The goroutine in Serve owns its fields; a turn has a
// goroutine of its own and shares only what is marked.
type agent struct {
	wire *wire // shared
	home string
	log  *slog.Logger
	stop context.CancelCauseFunc // shared

	client       string // name of the client; empty until it says so
	experimental bool
	threads      map[string]*thread

	turns    sync.WaitGroup
	commands sync.WaitGroup // shared
	deaf     atomic.Bool    // shared: neither signals nor the end of input end it
}

// close ends everything the agent has started, first the turns, as they start
// commands.
func (a *agent) close() {
	a.stop(nil)
	a.turns.Wait()
	a.commands.Wait()
	a.wire.close()
	for _, t := range a.threads {
		t.rollout.close()
	}
}

// ignoreEnd makes the process survive whatever asks it to end.
func (a *agent) ignoreEnd() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	a.deaf.Store(true)
}

// receive acts on one line. As Codex does, it says nothing to what is no
// message and to notifications.
func (a *agent) receive(ctx context.Context, line []byte) {
	var m message
	switch err := json.Unmarshal(line, &m); {
	case err != nil:
		a.log.Error("failed to deserialize message", "error", err)
	case m.Method == "":
		a.wire.deliver(m)
	case m.ID != nil:
		a.answer(ctx, m)
	}
}

// answer replies to a request and then does what has to follow the reply.
func (a *agent) answer(ctx context.Context, m message) {
	result, then, err := a.handle(ctx, m)
	if err != nil {
		a.wire.send(ctx, object{"id": m.ID, "error": err})
		return
	}
	a.wire.send(ctx, object{"id": m.ID, "result": result})
	if then != nil {
		then()
	}
}

func (a *agent) handle(ctx context.Context, m message) (result object, then func(), err *wireError) {
	switch {
	case m.Method == "initialize" && a.client != "":
		return nil, nil, invalid("Already initialized")
	case m.Method == "initialize":
		return a.initialize(ctx, m.Params)
	case a.client == "":
		return nil, nil, invalid("Not initialized")
	}
	switch m.Method {
	case "account/login/start":
		return a.login(ctx, m.Params)
	case "thread/start":
		return a.startThread(ctx, m.Params)
	case "thread/resume":
		return a.resumeThread(ctx, m.Params)
	case "thread/name/set":
		return a.nameThread(ctx, m.Params)
	case "turn/start":
		return a.startTurn(ctx, m.Params)
	case "turn/interrupt":
		return a.interruptTurn(m.Params)
	}
	return nil, nil, invalid("Invalid request: unknown variant `%s`", m.Method)
}
