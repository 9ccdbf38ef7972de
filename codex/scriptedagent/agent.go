package scriptedagent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
)

// Options are the parameters of Serve besides its two streams.
type Options struct {
	// Home is the folder in which threads are stored, as CODEX_HOME is for Codex.
	// If it is empty, a thread ends with the process.
	Home string

	// Config holds settings of the form key=value, as the argument -c of Codex takes
	// them. Only the permission profiles that they define are used.
	Config []string

	// Unknown holds methods that the agent does not know, as an older Codex.
	Unknown []string

	// Log receives what Codex writes to standard error, such as complaints about lines
	// that are not JSON. If it is nil, nothing is logged.
	Log *slog.Logger
}

// ExitError is the error of Serve when the script ends the process. The caller exits
// with the code.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("the script exits with code %d", e.Code) }

// Serve runs the scripted agent: it answers a client on in and out until in ends
// (nil), the script exits (*ExitError) or ctx is done (its cause). It then stops the
// turns and kills the running commands. Only a read from in may continue after Serve
// returns, until in ends, and a write that the client does not read.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancelCause(ctx)
	w := newWire(ctx, in, out)
	a := &agent{wire: w, home: o.Home, config: o.Config, unknown: o.Unknown, log: o.Log, stop: stop, threads: make(map[string]*thread)}
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

// agent is one app-server. The goroutine of Serve owns its fields. A turn has a
// goroutine of its own and uses only the fields that are marked as shared.
type agent struct {
	wire    *wire // shared
	home    string
	config  []string
	unknown []string // methods
	log     *slog.Logger
	stop    context.CancelCauseFunc // shared

	client       string // name of the client; empty until initialize
	experimental bool
	threads      map[string]*thread

	programs programs // shared: of the client

	turns    sync.WaitGroup
	commands sync.WaitGroup // shared
	deaf     atomic.Bool    // shared: neither signals nor the end of input end it
}

// close ends everything that the agent has started: first the turns, because they
// start commands.
func (a *agent) close() {
	a.stop(nil)
	a.turns.Wait()
	a.commands.Wait()
	a.wire.close()
	for _, t := range a.threads {
		t.rollout.close()
	}
}

// ignoreEnd makes the process ignore signals and the end of its input.
func (a *agent) ignoreEnd() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	a.deaf.Store(true)
}

// receive handles one line. Like Codex it does not answer notifications and lines that
// are not messages.
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

// answer replies to a request and then runs what has to follow the reply.
func (a *agent) answer(ctx context.Context, m message) {
	result, then, err := a.handle(ctx, m)
	switch {
	case err != nil:
		a.wire.send(ctx, object{"id": m.ID, "error": err})
		return
	case result == nil:
		return // the reply follows
	}
	a.wire.send(ctx, object{"id": m.ID, "result": result})
	if then != nil {
		then()
	}
}

// handle returns the result of a request and what has to follow the reply. It returns
// nothing if the reply is sent later.
func (a *agent) handle(ctx context.Context, m message) (result object, then func(), err *wireError) {
	switch {
	case m.Method == "initialize" && a.client != "":
		return nil, nil, invalid("Already initialized")
	case m.Method == "initialize":
		return a.initialize(ctx, m.Params)
	case a.client == "":
		return nil, nil, invalid("Not initialized")
	case slices.Contains(a.unknown, m.Method):
		return nil, nil, unknownMethod(m.Method)
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
	case "thread/backgroundTerminals/clean":
		return a.cleanTerminals(m.Params)
	case "experimentalFeature/list":
		return a.listFeatures(m.Params)
	case "permissionProfile/list":
		return a.listProfiles(m.Params)
	case "command/exec":
		return nil, nil, a.startProgram(ctx, m)
	case "command/exec/terminate":
		return a.terminateProgram(m.Params)
	}
	return nil, nil, unknownMethod(m.Method)
}

func unknownMethod(name string) *wireError {
	return invalid("Invalid request: unknown variant `%s`", name)
}

// version is the version of Codex whose protocol the agent speaks.
const version = "0.169.0"

// decode reads params as Codex does: they must be present and have the right types.
// Unknown fields are ignored.
func decode(params json.RawMessage, into any) *wireError {
	if params == nil {
		return missing("params")
	}
	if err := json.Unmarshal(params, into); err != nil {
		return invalid("Invalid request: %v", err)
	}
	return nil
}

func missing(field string) *wireError {
	return invalid("Invalid request: missing field `%s`", field)
}

func (a *agent) initialize(ctx context.Context, params json.RawMessage) (object, func(), *wireError) {
	var p struct {
		ClientInfo   *struct{ Name, Version string }
		Capabilities struct{ ExperimentalAPI bool }
	}
	if err := decode(params, &p); err != nil {
		return nil, nil, err
	}
	switch {
	case p.ClientInfo == nil:
		return nil, nil, missing("clientInfo")
	case p.ClientInfo.Name == "":
		return nil, nil, missing("name")
	case p.ClientInfo.Version == "":
		return nil, nil, missing("version")
	}
	a.client, a.experimental = p.ClientInfo.Name, p.Capabilities.ExperimentalAPI
	result := object{
		"userAgent": fmt.Sprintf("%s/%s (scripted; %s) unknown (%[1]s; %[4]s)",
			a.client, version, runtime.GOARCH, p.ClientInfo.Version),
		"codexHome":      a.home,
		"platformFamily": "unix",
		"platformOs":     runtime.GOOS,
	}
	return result, func() {
		a.wire.notify(ctx, "remoteControl/status/changed", object{
			"status": "disabled", "serverName": "scripted", "installationId": newID(), "environmentId": nil})
	}, nil
}

// login accepts any key and keeps none, because a script needs no model.
func (a *agent) login(ctx context.Context, params json.RawMessage) (object, func(), *wireError) {
	var p struct{ Type string }
	if err := decode(params, &p); err != nil {
		return nil, nil, err
	}
	if p.Type != "apiKey" {
		return nil, nil, invalid("Invalid request: unknown variant `%s`, expected `apiKey`", p.Type)
	}
	return object{"type": p.Type}, func() {
		a.wire.notify(ctx, "account/login/completed", object{
			"loginId": nil, "success": true, "error": nil, "onboardingEntrypoint": nil})
		a.wire.notify(ctx, "account/updated", object{"authMode": "apikey", "planType": nil})
	}, nil
}
