package scriptedagent

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for a line before it fails.
const patience = time.Minute

// The test binary is the scripted agent as a process of its own when this
// variable names its home.
const agentHome = "SCRIPTED_AGENT_HOME"

func TestMain(m *testing.M) {
	home, ok := os.LookupEnv(agentHome)
	if !ok {
		os.Exit(m.Run())
	}
	os.Exit(Main(os.Stdin, os.Stdout, os.Stderr, Options{Home: home}))
}

// peer is a minimal client: it sends lines, records those that it receives, and answers
// requests with the functions in answers.
type peer struct {
	t       testing.TB
	ctx     context.Context
	in      io.WriteCloser
	lines   chan []byte // closed at the end of output
	all     []event     // everything received, in order
	answers map[string]func(params object) object
	methods map[string]string // of the requests, by id
	pid     int               // of the process, if it is one
	end     func() error      // waits for the agent to end
}

// event is any line from the agent.
type event struct {
	Method string
	ID     json.RawMessage
	Params object
	Result object
	Error  *refusal
	Line   []byte
}

func newPeer(t testing.TB, in io.WriteCloser, out io.Reader, end func() error) *peer {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	p := &peer{t: t, ctx: ctx, in: in, lines: make(chan []byte, 1<<10), end: end,
		answers: make(map[string]func(object) object), methods: make(map[string]string)}
	go func() {
		defer close(p.lines)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			select {
			case p.lines <- line:
			case <-ctx.Done():
			}
		}
	}()
	return p
}

// serve returns a peer of an agent in this process.
func serve(t testing.TB, o Options) *peer {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := Serve(t.Context(), inR, outW, o)
		outW.Close()
		done <- err
	}()
	t.Cleanup(func() { inW.Close(); outR.Close() })
	return newPeer(t, inW, outR, func() error { return <-done })
}

// start returns a peer of a process. The process group is killed with the test.
func start(t testing.TB, cmd *exec.Cmd) *peer {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = outW
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	outW.Close()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait(); close(done) }()
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		for range done {
		}
		out.Close()
	})
	p := newPeer(t, in, out, func() error { return <-done })
	p.pid = cmd.Process.Pid
	return p
}

// startAgent returns a peer of the scripted agent in a process of its own.
func startAgent(t testing.TB, home string) *peer {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), agentHome+"="+home, "GORACE=atexit_sleep_ms=0") // else it sleeps for a second before it exits
	return start(t, cmd)
}

func (p *peer) write(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatalf("write %.80q: %v", line, err)
	}
}

// next returns the next line from the agent, after answering it if it is a request.
func (p *peer) next() (event, bool) {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			return event{}, false
		}
		e := event{Line: line}
		if json.Unmarshal(line, &e) == nil && e.Method != "" && e.ID != nil {
			if answer, ok := p.answers[e.Method]; ok {
				msg := answer(e.Params)
				msg["id"] = e.ID
				p.write(mustJSON(p.t, msg))
			}
		}
		p.all = append(p.all, e)
		return e, true
	case <-p.ctx.Done():
		p.t.Fatalf("nothing came any more; what came:\n%s", p.transcript())
		return event{}, false
	}
}

// call sends a request and returns its reply.
func (p *peer) call(method string, params any) event {
	p.t.Helper()
	id := fmt.Sprint(len(p.methods) + 1)
	p.methods[id] = method
	p.write(mustJSON(p.t, object{"id": json.RawMessage(id), "method": method, "params": params}))
	for {
		e, ok := p.next()
		if !ok {
			p.t.Fatalf("%s: the output ended before the reply", method)
		}
		if e.Method == "" && string(e.ID) == id {
			return e
		}
	}
}

// ok sends a request that must succeed and returns its result.
func (p *peer) ok(method string, params any) object {
	p.t.Helper()
	e := p.call(method, params)
	if e.Error != nil {
		p.t.Fatalf("%s: %v", method, e.Error)
	}
	return e.Result
}

// until reads on to the next notification of a method.
func (p *peer) until(method string) object {
	p.t.Helper()
	for {
		e, ok := p.next()
		if !ok {
			p.t.Fatalf("the output ended before %s; what came:\n%s", method, p.transcript())
		}
		if e.Method == method {
			return e.Params
		}
	}
}

// hello initializes the connection.
func (p *peer) hello() {
	p.t.Helper()
	p.ok("initialize", object{"clientInfo": object{"name": "peer", "version": "1"},
		"capabilities": object{"experimentalApi": true}})
	p.write(`{"method":"initialized"}`)
}

// thread starts a thread and returns its id.
func (p *peer) thread(cwd string, more object) string {
	p.t.Helper()
	params := object{"cwd": cwd, "approvalPolicy": "never", "sandbox": "read-only"}
	for k, v := range more {
		params[k] = v
	}
	return p.ok("thread/start", params)["thread"].(map[string]any)["id"].(string)
}

// begin starts a turn, without a sandbox, and returns its id.
func (p *peer) begin(thread, text string) string {
	p.t.Helper()
	r := p.ok("turn/start", object{"threadId": thread, "input": []object{{"type": "text", "text": text}},
		"sandboxPolicy": object{"type": "dangerFullAccess"}})
	return r["turn"].(map[string]any)["id"].(string)
}

// turn runs a turn to its end and returns how it ended.
func (p *peer) turn(thread, text string) turnEnd {
	p.t.Helper()
	p.begin(thread, text)
	return p.completed()
}

type turnEnd struct {
	Status string
	Error  *struct {
		Message        string
		CodexErrorInfo any
	}
	Items []struct{ Text string }
}

func (p *peer) completed() turnEnd {
	p.t.Helper()
	var end struct{ Turn turnEnd }
	if err := json.Unmarshal([]byte(mustJSON(p.t, p.until("turn/completed"))), &end); err != nil {
		p.t.Fatal(err)
	}
	return end.Turn
}

// of returns the params of all notifications and requests of a method so far.
func (p *peer) of(method string) (params []object) {
	for _, e := range p.all {
		if e.Method == method {
			params = append(params, e.Params)
		}
	}
	return params
}

// items returns the completed items of a type so far.
func (p *peer) items(kind string) (items []map[string]any) {
	for _, params := range p.of("item/completed") {
		if item := params["item"].(map[string]any); item["type"] == kind {
			items = append(items, item)
		}
	}
	return items
}

// first returns the params of the first notification or request of a method, which must
// exist.
func (p *peer) first(method string) object {
	p.t.Helper()
	all := p.of(method)
	if len(all) == 0 {
		p.t.Fatalf("no %s came", method)
	}
	return all[0]
}

// item returns the first completed item of a type, which must exist.
func (p *peer) item(kind string) object {
	p.t.Helper()
	all := p.items(kind)
	if len(all) == 0 {
		p.t.Fatalf("no %s was completed", kind)
	}
	return all[0]
}

// said returns the agent's messages so far.
func (p *peer) said() (texts []string) {
	for _, item := range p.items("agentMessage") {
		texts = append(texts, item["text"].(string))
	}
	return texts
}

// spent returns the last total of tokens: input, cached input, cache writes and output.
func (p *peer) spent() [4]float64 {
	updates := p.of("thread/tokenUsage/updated")
	if len(updates) == 0 {
		return [4]float64{}
	}
	total := updates[len(updates)-1]["tokenUsage"].(map[string]any)["total"].(map[string]any)
	number := func(part string) float64 { return total[part].(float64) }
	return [4]float64{number("inputTokens"), number("cachedInputTokens"), number("cacheWriteInputTokens"), number("outputTokens")}
}

func (p *peer) transcript() string {
	var b strings.Builder
	for _, e := range p.all {
		fmt.Fprintf(&b, "%.200s\n", e.Line)
	}
	return b.String()
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
