package scriptedagent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// flushBound is how long close waits for a client that has stopped reading.
const flushBound = time.Second

// object is a JSON object on the wire.
type object map[string]any

// message is any line that a client sends.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *wireError      `json:"error"`
}

// wireError is an error reply. Codex uses one code for nearly every error.
type wireError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    object `json:"data,omitempty"`
}

func (e *wireError) Error() string { return e.Message }

func invalid(format string, args ...any) *wireError {
	return &wireError{Code: -32600, Message: fmt.Sprintf(format, args...)}
}

// wire sends lines to the client and receives its lines. A goroutine of its own writes,
// so that a client which has stopped reading cannot keep a turn from ending.
type wire struct {
	in      chan []byte // closed at the end of input
	out     chan []byte
	flushed chan struct{}

	mu      sync.Mutex
	asked   int64
	pending map[int64]chan message
}

// newWire starts the two goroutines that read and write. A blocked read or write cannot
// be canceled, so each goroutine ends with its stream.
func newWire(ctx context.Context, in io.Reader, out io.Writer) *wire {
	w := &wire{
		in:      make(chan []byte),
		out:     make(chan []byte, 64), // so that one flush serves a burst
		flushed: make(chan struct{}),
		pending: make(map[int64]chan message),
	}
	go w.read(ctx, in)
	go w.write(out)
	return w
}

func (w *wire) read(ctx context.Context, in io.Reader) {
	defer close(w.in)
	for r := bufio.NewReader(in); ; {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			select {
			case w.in <- line:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (w *wire) write(out io.Writer) {
	defer close(w.flushed)
	b := bufio.NewWriter(out) // keeps its first error: later lines go nowhere
	for line := range w.out {
		b.Write(line)
		if len(w.out) == 0 {
			b.Flush()
		}
	}
}

// close writes the remaining lines. No sender may be active.
func (w *wire) close() {
	close(w.out)
	select {
	case <-w.flushed:
	case <-time.After(flushBound):
	}
}

// line sends one line, including its newline, unless ctx is done.
func (w *wire) line(ctx context.Context, line []byte) {
	if ctx.Err() != nil {
		return
	}
	select {
	case w.out <- line:
	case <-ctx.Done():
	}
}

func (w *wire) send(ctx context.Context, msg object) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(msg); err != nil {
		panic(err) // only our own types get here
	}
	w.line(ctx, b.Bytes())
}

func (w *wire) notify(ctx context.Context, method string, params object) {
	w.send(ctx, object{"method": method, "params": params, "emittedAtMs": time.Now().UnixMilli()})
}

// ask sends a request of the agent, numbered from 0, and returns its number and a
// channel for the answer.
func (w *wire) ask(ctx context.Context, method string, params object) (int64, <-chan message) {
	answer := make(chan message, 1) // so that deliver does not wait for a turn that has ended
	w.mu.Lock()
	id := w.asked
	w.asked++
	w.pending[id] = answer
	w.mu.Unlock()
	w.send(ctx, object{"method": method, "id": id, "params": params})
	return id, answer
}

// deliver passes an answer to the request that it answers. It drops other answers.
func (w *wire) deliver(m message) {
	var id int64
	if json.Unmarshal(m.ID, &id) != nil {
		return
	}
	w.mu.Lock()
	answer, ok := w.pending[id]
	delete(w.pending, id)
	w.mu.Unlock()
	if ok {
		answer <- m
	}
}
