package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/codex/endpoint"
)

// outgoingLines is the number of lines that may wait for the writer. When that
// many wait, senders block.
const outgoingLines = 64

// conn is a connection to an app-server and the calls that it has to answer. One
// goroutine reads and one writes, so that a server which stops reading cannot stop
// us from reading.
type conn struct {
	rwc          io.ReadWriteCloser
	tap          func(dir byte, line []byte)
	replyTimeout time.Duration // time for a reply to a server that does not read
	outgoing     chan []byte
	done         chan struct{} // closed by fail
	wg           sync.WaitGroup

	mu      sync.Mutex // guards the fields below; see core for the order of locks
	lastID  int64      // the id of the last call
	pending map[int64]call
	err     error // reason why done is closed
}

func newConn(rwc io.ReadWriteCloser, wait time.Duration, wire func(byte, []byte)) *conn {
	if wire == nil {
		wire = func(byte, []byte) {}
	}
	return &conn{
		rwc: rwc, tap: wire, replyTimeout: wait,
		outgoing: make(chan []byte, outgoingLines), done: make(chan struct{}), pending: make(map[int64]call),
	}
}

// maskKey wraps wire so that the API key is masked in the lines of both
// directions.
func maskKey(key string, wire func(byte, []byte)) func(byte, []byte) {
	if key == "" || wire == nil {
		return wire
	}
	quoted, _ := json.Marshal(key) // a string always marshals
	secret := quoted[1 : len(quoted)-1]
	return func(dir byte, line []byte) { wire(dir, bytes.ReplaceAll(line, secret, []byte("[key]"))) }
}

// start starts the two goroutines, which run until close. The reading one calls
// handle with each line, and with a context that ends when nothing more is read.
func (c *conn) start(ctx context.Context, handle func(ctx context.Context, line []byte)) {
	ctx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	c.wg.Go(c.write)
	c.wg.Go(func() {
		c.read(ctx, handle)
		stop(c.failure())
	})
}

func (c *conn) read(ctx context.Context, handle func(context.Context, []byte)) {
	in := newLineReader(c.rwc)
	for {
		line, err := in.next()
		switch {
		case errors.Is(err, errLineTooLong):
			c.fail(fmt.Errorf("reading from Codex: %w: %w: look for what printed it in the session's log", ErrResponse, err))
			return
		case err != nil:
			c.fail(fmt.Errorf("reading from Codex: %w: %w: see its standard error", ErrPortExit, err))
			return
		case len(line) == 0:
			continue
		}
		c.tap('<', line)
		handle(ctx, line)
	}
}

func (c *conn) write() {
	for {
		select {
		case line := <-c.outgoing:
			c.tap('>', line[:len(line)-1])
			if _, err := c.rwc.Write(line); err != nil {
				c.fail(fmt.Errorf("writing to Codex: %w: %w: see its standard error", ErrPortExit, err))
				return
			}
		case <-c.done:
			return
		}
	}
}

// fail ends the connection with a reason. Later reasons are dropped.
func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.done)
	}
}

func (c *conn) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *conn) close() error {
	c.fail(fmt.Errorf("the session: %w: it was closed", ErrPortExit))
	err := c.rwc.Close()
	c.wg.Wait()
	return err
}

func (c *conn) send(ctx context.Context, v any) error {
	line, err := encodeLine(v)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case c.outgoing <- line:
		return nil
	case <-c.done:
		return c.failure()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sendReply sends a reply. It ends the connection if the server does not read for
// replyTimeout: such a server never continues.
func (c *conn) sendReply(r reply) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), c.replyTimeout,
		fmt.Errorf("answering Codex: %w: it reads nothing for %v", ErrResponseTimeout, c.replyTimeout))
	defer cancel()
	if err := c.send(ctx, r); err != nil {
		c.fail(err)
	}
}

const (
	overloadTries = 4                      // attempts at a request that the server is too busy for
	overloadPause = 100 * time.Millisecond // pause before the second attempt; it doubles with each further one
)

type call struct {
	method string
	then   replyFunc
}

// replyFunc receives the outcome of a call. It runs on the read loop, before the
// next line is handled. It is not called when the connection ends first.
type replyFunc func(result json.RawMessage, err error)

// sendCall sends a request and returns its id without waiting for the answer. The
// caller has to watch for the end of the connection, and calls forget when it no
// longer waits.
func (c *conn) sendCall(ctx context.Context, method string, params any, then replyFunc) (id int64, err error) {
	c.mu.Lock()
	c.lastID++
	id = c.lastID
	c.pending[id] = call{method, then}
	c.mu.Unlock()
	if err := c.send(ctx, request{ID: id, Method: method, Params: params}); err != nil {
		c.forget(id)
		return 0, fmt.Errorf("%s: %w", method, err)
	}
	return id, nil
}

// ask sends a request that is to end something, and waits until it has ended. It reports whether the
// server refused the request instead.
func (c *conn) ask(ctx context.Context, method string, params any, ended <-chan struct{}) (refused bool, err error) {
	refusal := make(chan struct{})
	id, err := c.sendCall(ctx, method, params, func(_ json.RawMessage, err error) {
		if err != nil {
			close(refusal)
		}
	})
	if err != nil {
		return false, err
	}
	defer c.forget(id)
	select {
	case <-ended:
		return false, nil
	case <-refusal:
		return true, nil
	case <-c.done:
		return false, c.failure()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// forget drops a call and reports whether it was still unanswered.
func (c *conn) forget(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, awaited := c.pending[id]
	delete(c.pending, id)
	return awaited
}

// deliverReply passes a reply to the call that it answers, and reports whether
// there is such a call.
func (c *conn) deliverReply(m message) bool {
	id, err := strconv.ParseInt(string(m.ID), 10, 64)
	if err != nil {
		return false
	}
	c.mu.Lock()
	call, awaited := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if !awaited {
		return false
	}
	if !present(m.Error) {
		call.then(m.Result, nil)
		return true
	}
	var refused refusal
	if err := json.Unmarshal(m.Error, &refused); err != nil && refused.Message == "" {
		refused.Message = string(m.Error) // an error of an unknown shape still refuses
	}
	if refused.Code == endpoint.CodeLost {
		call.then(nil, fmt.Errorf("%s: %w: %s", call.method, ErrPortExit, refused.Message))
		return true
	}
	call.then(nil, &ResponseError{Method: call.method, Code: refused.Code, Message: refused.Message, Data: refused.Data})
	return true
}

// call sends a request and waits for the answer for at most wait. If the server is
// overloaded it sends the request again within that time. A non-nil accept receives
// the result on the read loop, as a replyFunc does.
func (c *conn) call(ctx context.Context, wait time.Duration, method string, params any, accept func(json.RawMessage) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, wait,
		fmt.Errorf("%w: no answer in %v: raise codex.read_timeout_ms if the machine is slow", ErrResponseTimeout, wait))
	defer cancel()
	for try := 0; ; try++ {
		err := c.request(ctx, method, params, accept)
		refused, ok := errors.AsType[*ResponseError](err)
		if !ok || refused.Code != codeOverloaded || try == overloadTries-1 {
			return err
		}
		pause := overloadPause << try
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return err
		case <-c.done:
			return err
		}
	}
}

func (c *conn) request(ctx context.Context, method string, params any, accept func(json.RawMessage) error) error {
	outcome := make(chan error, 1)
	id, err := c.sendCall(ctx, method, params, func(result json.RawMessage, err error) {
		if err == nil && accept != nil {
			err = accept(result)
		}
		outcome <- err
	})
	if err != nil {
		return err
	}
	select {
	case err := <-outcome:
		return err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-c.done:
		err = c.failure()
	}
	if c.forget(id) {
		return fmt.Errorf("%s: %w", method, err)
	}
	return <-outcome // the read loop is delivering it
}
