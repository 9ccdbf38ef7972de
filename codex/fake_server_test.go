package codex

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
)

// fakeServer is the server's end of a session, played by a test.
type fakeServer struct {
	t   *testing.T
	rwc io.ReadWriteCloser
	in  *bufio.Reader
}

// received is a line that the session wrote.
type received struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *refusal        `json:"error"`
}

// dial returns the session's end of a connection. The script plays the other
// end and hangs up when it returns.
func dial(t *testing.T, script func(*fakeServer)) io.ReadWriteCloser {
	t.Helper()
	ours, theirs := net.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		defer theirs.Close()
		script(&fakeServer{t: t, rwc: theirs, in: bufio.NewReader(theirs)})
	})
	t.Cleanup(func() {
		ours.Close()
		wg.Wait()
	})
	return ours
}

// next reads one line of the session, and reports whether there was one.
func (p *fakeServer) next() (m received, ok bool) {
	text, err := p.in.ReadBytes('\n')
	if err != nil {
		return received{}, false
	}
	if err := json.Unmarshal(text, &m); err != nil {
		p.t.Errorf("the session wrote %q: %v", text, err)
	}
	return m, true
}

// expect returns the next line, which must be a call of the method.
func (p *fakeServer) expect(method string) received {
	m, ok := p.next()
	if !ok || m.Method != method {
		p.t.Errorf("the session wrote %+v (%v), want %s", m, ok, method)
	}
	return m
}

// drain reads until the session hangs up.
func (p *fakeServer) drain() {
	for {
		if _, ok := p.next(); !ok {
			return
		}
	}
}

// send writes lines unchanged. It ignores that the session has hung up.
func (p *fakeServer) send(lines ...string) {
	for _, text := range lines {
		_, _ = io.WriteString(p.rwc, text+"\n")
	}
}

func (p *fakeServer) reply(m received, result string) {
	p.send(fmt.Sprintf(`{"id":%s,"result":%s}`, m.ID, result))
}

func (p *fakeServer) refuse(m received, code int, text string) {
	p.send(fmt.Sprintf(`{"id":%s,"error":{"code":%d,"message":%q}}`, m.ID, code, text))
}

// hello plays the handshake of a server that does not report its configuration.
func (p *fakeServer) hello() {
	p.reply(p.expect("initialize"), `{}`)
	p.expect("initialized")
	p.unknown("config/read")
}

// unknown refuses a call of a method that the server does not have.
func (p *fakeServer) unknown(method string) {
	p.refuse(p.expect(method), -32600, "Invalid request: unknown variant `"+method+"`")
}

// handshake plays the handshake and opens thread-1.
func (p *fakeServer) handshake() {
	p.hello()
	p.reply(p.expect("thread/start"), `{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}`)
}

// turn plays the handshake and starts turn-1 of thread-1.
func (p *fakeServer) turn() received {
	p.handshake()
	m := p.expect("turn/start")
	p.reply(m, `{"turn":{"id":"turn-1"}}`)
	return m
}

const completed = `{"method":"turn/completed","params":{"threadId":"thread-1","turn":{"id":"turn-1","status":"completed","error":null}}}`

// eventLog keeps the events of a session.
type eventLog struct {
	mu     sync.Mutex
	events []Event
}

func (j *eventLog) add(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

func (j *eventLog) all() []Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.events)
}

func (j *eventLog) count(kind Kind) (n int) {
	for _, e := range j.all() {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// says reports whether an event of the kind has the summary.
func (j *eventLog) says(kind Kind, summary string) bool {
	return slices.ContainsFunc(j.all(), func(e Event) bool { return e.Kind == kind && e.Summary == summary })
}

// begin opens a session whose server plays a script, and returns it with a log of its
// events. The session is closed with the test.
func begin(t *testing.T, o Options, script func(*fakeServer)) (*Session, *eventLog) {
	t.Helper()
	j := &eventLog{}
	o.Events = j.add
	s, err := Open(t.Context(), dial(t, script), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, j
}

// runTurn opens a session, runs one turn whose stream is the given lines, and waits
// for the end of the session.
func runTurn(t *testing.T, o Options, stream ...string) (*Session, *eventLog, Turn, error) {
	t.Helper()
	s, j := begin(t, o, func(p *fakeServer) {
		p.turn()
		var wg sync.WaitGroup
		wg.Go(func() {
			p.send(stream...)
			p.rwc.Close()
		})
		p.drain()
		wg.Wait()
	})
	turn, err := s.Turn(t.Context(), Input{Text: "go"})
	<-s.conn.done
	s.Close()
	return s, j, turn, err
}
