package scriptedagent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"
)

// version is the version of Codex whose protocol the agent speaks.
const version = "0.169.0"

// Options are the parameters of Serve besides its two streams.
type Options struct {
	// Home is the folder in which threads are stored, as CODEX_HOME is for Codex.
	// If it is empty, a thread ends with the process.
	Home string

	// Config holds settings of the form key=value, as the argument -c of Codex takes
	// them. Only the permission profiles that they define are used.
	Config []string

	// Verbs are steps that a script may have besides the five of this package.
	Verbs []Verb

	// Refuse returns the refusal of a request; nil leaves it to the agent.
	Refuse func(method string, params json.RawMessage) *Error
}

// Serve runs the scripted agent: it answers a client on in and out until in ends
// (nil), a step ends it or ctx is done (its cause). It then stops the turns and kills the
// running commands. A read from in may continue after Serve returns, until in ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	ctx, stop := context.WithCancelCause(ctx)
	s := &server{Options: o, out: out, stop: stop, threads: make(map[string]*thread), asked: make(map[int]chan Message)}
	defer s.close()
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		for r := bufio.NewReader(in); ; {
			line, err := r.ReadBytes('\n')
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return nil
			}
			s.receive(ctx, line)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Object is a JSON object on the wire.
type Object map[string]any

// Message is any line that a client sends.
type Message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

// Error is an error reply. Codex uses one code for nearly every error.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    Object `json:"data,omitempty"`
}

// Invalid returns the refusal of a request.
func Invalid(format string, args ...any) *Error {
	return &Error{Code: -32600, Message: fmt.Sprintf(format, args...)}
}

// UnknownMethod returns the refusal of a method.
func UnknownMethod(name string) *Error {
	return Invalid("Invalid request: unknown variant `%s`", name)
}

// server is one app-server. The goroutine of Serve owns client and threads; a turn and a
// program have goroutines of their own.
type server struct {
	Options
	stop    context.CancelCauseFunc
	client  string // name of the client; empty until initialize
	threads map[string]*thread

	programs sync.Map // functions that end a program, by the client's id
	running  sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	out   io.Writer
	asked map[int]chan Message // requests of the agent, numbered from 0; nil once it is answered
}

// close ends everything that the agent has started: first the turns, because they
// start commands.
func (s *server) close() {
	s.stop(nil)
	s.running.Wait()
	for _, t := range s.threads {
		t.killCommands()
	}
}

// line sends one line. The client may have gone.
func (s *server) line(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.Write(line)
}

func (s *server) send(msg Object) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(msg); err != nil {
		panic(err) // only our own types get here
	}
	s.line(b.Bytes())
}

func (s *server) notify(method string, params Object) {
	s.send(Object{"method": method, "params": params, "emittedAtMs": time.Now().UnixMilli()})
}

// ask sends a request of the agent, and returns its number and a channel for the answer.
func (s *server) ask(method string, params Object) (int, <-chan Message) {
	answer := make(chan Message, 1) // so that the answer does not wait for a turn that has ended
	s.mu.Lock()
	id := len(s.asked)
	s.asked[id] = answer
	s.mu.Unlock()
	s.send(Object{"method": method, "id": id, "params": params})
	return id, answer
}

// receive handles one line. Like Codex it does not answer notifications and lines that
// are not messages.
func (s *server) receive(ctx context.Context, line []byte) {
	var m Message
	switch err := json.Unmarshal(line, &m); {
	case err != nil || m.Method != "" && m.ID == nil:
	case m.Method == "":
		var id int
		if json.Unmarshal(m.ID, &id) != nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if answer := s.asked[id]; answer != nil {
			answer <- m
			s.asked[id] = nil
		}
	default:
		r := request{id: m.ID, s: s}
		if err := s.handle(ctx, m, r); err != nil {
			s.send(Object{"id": m.ID, "error": err})
		}
	}
}

// request is a request of the client with the parameters of all methods. The agent does
// not know all of those that Codex knows, and stores policies without following them.
type request struct {
	id json.RawMessage
	s  *server

	ClientInfo     struct{ Name, Version string }
	ThreadID       string
	TurnID         string
	ExpectedTurnID string
	ClientID       string `json:"clientUserMessageId"`
	Name           string
	Cwd            string
	Model          string
	Ephemeral      bool
	ExcludeTurns   bool
	DynamicTools   []tool
	ApprovalPolicy json.RawMessage
	Sandbox        string
	Config         struct {
		Profile      string `json:"default_permissions"`
		NetworkProxy bool   `json:"features.network_proxy"`
	}
	Input []struct{ Text string }

	Command           []string
	Env               map[string]*string
	PermissionProfile string
	ProcessID         string
	Stream            bool `json:"streamStdoutStderr"`
	TimeoutMs         int
	OutputBytesCap    int
}

func (r request) reply(result Object) { r.s.send(Object{"id": r.id, "result": result}) }

func (s *server) handle(ctx context.Context, m Message, r request) *Error {
	switch {
	case m.Method == "initialize" && s.client != "":
		return Invalid("Already initialized")
	case m.Method != "initialize" && s.client == "":
		return Invalid("Not initialized")
	}
	if s.Refuse != nil {
		if err := s.Refuse(m.Method, m.Params); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(m.Params, &r); err != nil {
		return Invalid("Invalid request: %v", err)
	}
	switch m.Method {
	case "initialize":
		s.client = r.ClientInfo.Name
		r.reply(Object{
			"userAgent": fmt.Sprintf("%s/%s (scripted; %s) unknown (%[1]s; %[4]s)", s.client, version, runtime.GOARCH, r.ClientInfo.Version),
			"codexHome": s.Home, "platformFamily": "unix", "platformOs": runtime.GOOS,
		})
	case "account/login/start": // any key will do, because a script needs no model
		r.reply(Object{"type": "apiKey"})
	case "permissionProfile/list":
		s.listProfiles(r)
	case "command/exec":
		return s.startProgram(ctx, r)
	case "command/exec/terminate":
		return s.terminateProgram(r)
	case "thread/start":
		s.startThread(r)
	case "thread/resume":
		return s.resumeThread(r)
	case "thread/name/set", "thread/backgroundTerminals/clean", "experimentalFeature/list", "turn/start", "turn/steer", "turn/interrupt":
		t := s.threads[r.ThreadID]
		if t == nil {
			return Invalid("thread not found: %s", r.ThreadID)
		}
		return t.handle(ctx, m.Method, r)
	default:
		return UnknownMethod(m.Method)
	}
	return nil
}
