package endpoint

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// A turn goes on without a client, so a connection that is lost need not end a session. [Lasting]
// connects again, makes the handshake again and resumes the thread, below the protocol of the
// session, which sees one connection. It knows this much of the protocol:
//
//   - The first thread that is started or resumed is the session's. Others, for reviews, are
//     resumed as well, and missed if they cannot be.
//   - A request of the session that was not answered never will be. It gets an error with
//     [CodeLost].
//   - The server sends a request that was not answered again. The session gets each one once; an
//     answer that it has given is given again.
//   - The end of a turn may have come while nobody listened. Then it is told from the thread.
//   - A server that has been started anew may have other settings, which nobody has tried: that ends
//     the connection.

// CodeLost is the code of the error with which a request is answered whose connection was lost.
const CodeLost = -32099

// errNotResumed: the server answers, and the session cannot go on there.
var errNotResumed = errors.New("the session cannot go on")

// message is the part of a message of the protocol that matters here.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// lasting is a connection that is made again when it is lost.
type lasting struct {
	server Server
	told   func(error)
	ctx    context.Context
	end    context.CancelFunc

	writing sync.Mutex // held while a line is written, and while the connection is made again

	mu      sync.Mutex
	below   io.ReadWriteCloser
	lines   *bufio.Reader                // of below; only Read uses it
	unread  []byte                       // only Read uses it
	hello   []byte                       // initialize, as the session sent it
	process string                       // the server's process; empty until it is known
	threads []string                     // the session's own first
	asked   map[string]string            // methods of the session's requests without an answer, by id
	seen    map[string][sha256.Size]byte // requests of the server in this turn, by id
	answers map[string]answer            // answers of the session to them
	times   int                          // connections that were lost
}

// answer is an answer that was given when so many connections had been lost.
type answer struct {
	line []byte
	time int
}

// Lasting connects as [Dial] does. A connection that is lost while a thread is open is made again.
// told is called with the reason when that has happened.
func Lasting(ctx context.Context, server Server, told func(error)) (io.ReadWriteCloser, error) {
	below, err := Dial(ctx, server)
	if err != nil {
		return nil, err
	}
	l := &lasting{server: server, told: told, below: below, lines: bufio.NewReader(below), asked: map[string]string{}}
	l.ctx, l.end = context.WithCancel(context.WithoutCancel(ctx))
	l.endTurn()
	return l, nil
}

// endTurn forgets the requests of a turn.
func (l *lasting) endTurn() {
	l.seen, l.answers = map[string][sha256.Size]byte{}, map[string]answer{}
}

// Close implements [io.Closer].
func (l *lasting) Close() error {
	l.end()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.below.Close()
}

// Write implements [io.Writer]. Each call writes whole lines. What a lost connection does not take is
// settled when there is another one.
func (l *lasting) Write(lines []byte) (int, error) {
	if l.ctx.Err() != nil {
		return 0, io.ErrClosedPipe
	}
	l.write(lines)
	return len(lines), nil
}

func (l *lasting) write(lines []byte) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	below := l.below
	var more []byte
	for line := range bytes.Lines(lines) {
		more = append(more, l.sentLocked(line)...)
	}
	l.mu.Unlock()
	_, _ = below.Write(append(bytes.Clone(lines), more...)) // a connection that fails is lost for Read as well
}

// sentLocked takes note of a line of the session, and returns one to send after it. l.mu must be
// held.
func (l *lasting) sentLocked(line []byte) []byte {
	var m message
	if json.Unmarshal(line, &m) != nil {
		return nil
	}
	if m.Method == "initialize" {
		l.hello = bytes.Clone(line)
	}
	switch {
	case m.Method != "" && m.ID != nil:
		l.asked[string(m.ID)] = m.Method
	case m.Method == "initialized":
		return ownRequest("fs/readFile", map[string]string{"path": "/proc/self/stat"})
	case m.ID != nil:
		l.answers[string(m.ID)] = answer{bytes.Clone(line), l.times}
	}
	return nil
}

// ownPrefix begins the ids of the requests that the session does not know of.
const ownPrefix = `"lasting `

func ownRequest(method string, params any) []byte {
	text, _ := json.Marshal(params) // texts and switches always marshal
	line, _ := json.Marshal(message{ID: json.RawMessage(ownPrefix + method + `"`), Method: method, Params: text})
	return append(line, '\n')
}

// Read implements [io.Reader].
func (l *lasting) Read(p []byte) (int, error) {
	for len(l.unread) == 0 {
		line, err := l.lines.ReadBytes('\n')
		if err != nil {
			if line, err = l.again(err); err != nil {
				l.end()
				return 0, err
			}
			l.unread = line
			continue
		}
		if l.received(line) {
			l.unread = line
		}
	}
	n := copy(p, l.unread)
	l.unread = l.unread[n:]
	return n, nil
}

// received takes note of a line of the server, and reports whether it is for the session.
func (l *lasting) received(line []byte) bool {
	var m message
	if json.Unmarshal(line, &m) != nil {
		return true
	}
	id := string(m.ID)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case strings.HasPrefix(id, ownPrefix):
		if l.process == "" {
			l.process = processIn(m.Result)
		}
		return false
	case m.Method == "turn/completed":
		var of struct{ ThreadID string }
		if err := json.Unmarshal(m.Params, &of); err == nil && len(l.threads) > 0 && of.ThreadID == l.threads[0] {
			l.endTurn()
		}
	case m.Method != "" && m.ID != nil:
		sum := sha256.Sum256(line)
		if l.seen[id] != sum {
			l.seen[id] = sum
			delete(l.answers, id)
			return true
		}
		if a := l.answers[id]; a.line != nil && a.time != l.times {
			go l.write(a.line)
		}
		return false
	case m.ID != nil:
		method := l.asked[id]
		delete(l.asked, id)
		if thread := threadIn(m.Result).ID; thread != "" && slices.Contains(threadMethods, method) && !slices.Contains(l.threads, thread) {
			l.threads = append(l.threads, thread)
		}
	}
	return true
}

// threadMethods are the requests that open a thread.
var threadMethods = []string{"thread/start", "thread/resume", "thread/fork"}

// thread is the part of a thread that matters here.
type thread struct {
	ID    string
	Turns []json.RawMessage
}

func threadIn(result json.RawMessage) thread {
	var r struct{ Thread thread }
	_ = json.Unmarshal(result, &r) // an answer without a thread has none
	return r.Thread
}

// processIn returns the process whose stat of /proc is in the answer of fs/readFile.
func processIn(result json.RawMessage) string {
	var r struct{ DataBase64 []byte }
	_ = json.Unmarshal(result, &r) // an answer without it has none
	return Process(r.DataBase64)
}

// Process returns the id, the name and the start of a process from its stat in /proc; empty for
// something else.
func Process(stat []byte) string {
	name, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return ""
	}
	return name + ") " + fields[19]
}

// again makes a lost connection again, and returns the lines with which the session goes on.
func (l *lasting) again(lost error) ([]byte, error) {
	l.mu.Lock()
	threads, process, hello := slices.Clone(l.threads), l.process, l.hello
	l.below.Close() // ends a write that waits
	l.mu.Unlock()
	if l.ctx.Err() != nil || len(threads) == 0 || process == "" {
		return nil, lost
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	var r *resumption
	var turns []byte
	for try := 1; ; try++ {
		below, err := Dial(l.ctx, l.server)
		if err != nil {
			return nil, fmt.Errorf("%w; %w", lost, err)
		}
		r = &resumption{below: below, lines: bufio.NewReader(below)}
		limit, cancel := context.WithTimeout(l.ctx, resumeTime)
		closed := context.AfterFunc(limit, func() { below.Close() }) // ends a Read that waits
		turns, err = r.resume(hello, threads, process)
		if inTime := closed(); !inTime && err == nil {
			err = limit.Err()
		}
		cancel()
		if err == nil {
			break
		}
		below.Close()
		if try == tries || errors.Is(err, errNotResumed) {
			return nil, fmt.Errorf("%w; connect again: %w", lost, err)
		}
		select {
		case <-time.After(pause):
		case <-l.ctx.Done():
			return nil, lost
		}
	}
	l.told(lost)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		r.below.Close()
		return nil, lost
	}
	l.below, l.lines = r.below, bufio.NewReader(io.MultiReader(bytes.NewReader(r.early), bytes.NewReader(turns), r.lines))
	var answers []byte
	for id := range l.asked {
		line, _ := json.Marshal(message{ID: json.RawMessage(id), Error: fmt.Appendf(nil, `{"code":%d,"message":"the connection was lost"}`, CodeLost)})
		answers = append(append(answers, line...), '\n')
	}
	clear(l.asked)
	l.times++
	return answers, nil
}

// resumption is a new connection before the session uses it.
type resumption struct {
	below io.ReadWriteCloser
	lines *bufio.Reader
	early []byte // lines for the session that have come meanwhile
}

// resume makes the handshake and resumes the threads. It returns a line with the end of the latest
// turn of each thread, none if that still runs.
func (r *resumption) resume(hello []byte, threads []string, process string) (turns []byte, err error) {
	var first message
	if err := json.Unmarshal(hello, &first); err != nil {
		return nil, err
	}
	if _, err := r.ask("initialize", first.Params); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(r.below, `{"method":"initialized"}`+"\n"); err != nil {
		return nil, err
	}
	stat, err := r.ask("fs/readFile", map[string]string{"path": "/proc/self/stat"})
	if err == nil && processIn(stat) != process {
		err = fmt.Errorf("%w: the app-server was started anew", errNotResumed)
	}
	for i, thread := range threads {
		if err != nil {
			return nil, err
		}
		var turn []byte
		turn, err = r.resumeThread(thread)
		if i > 0 && errors.Is(err, errNotResumed) {
			err = nil
		}
		turns = append(turns, turn...)
	}
	return turns, err
}

// resumeThread resumes a thread, and returns a line with the end of its latest turn, empty if that
// still runs.
func (r *resumption) resumeThread(thread string) ([]byte, error) {
	if _, err := r.ask("thread/resume", map[string]string{"threadId": thread}); err != nil {
		return nil, err
	}
	read, err := r.ask("thread/read", map[string]any{"threadId": thread, "includeTurns": true})
	if err != nil {
		return nil, err
	}
	turns := threadIn(read).Turns
	if len(turns) == 0 {
		return nil, nil
	}
	var last struct{ Status string }
	latest := turns[len(turns)-1]
	if err := json.Unmarshal(latest, &last); err != nil || last.Status == "inProgress" {
		return nil, err
	}
	params, err := json.Marshal(map[string]any{"threadId": thread, "turn": latest})
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(message{Method: "turn/completed", Params: params})
	return append(line, '\n'), err
}

func (r *resumption) ask(method string, params any) (json.RawMessage, error) {
	request := ownRequest(method, params)
	if _, err := r.below.Write(request); err != nil {
		return nil, err
	}
	for {
		line, err := r.lines.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var m message
		if json.Unmarshal(line, &m) != nil || !strings.HasPrefix(string(m.ID), ownPrefix) {
			r.early = append(r.early, line...)
			continue
		}
		if m.Error != nil {
			return nil, fmt.Errorf("%w: %s: %s", errNotResumed, method, m.Error)
		}
		return m.Result, nil
	}
}
