package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// queued is how many lines wait for the writer; beyond it, senders wait.
const queued = 64

// conn is a connection with our calls on it. One goroutine reads and one
// writes, so that a server which stops reading cannot stop us from reading.
type conn struct {
	rwc  io.ReadWriteCloser
	wire func(dir byte, line []byte)
	wait time.Duration // for the answer to a request, and for room to send
	out  chan []byte
	done chan struct{} // closed by fail
	wg   sync.WaitGroup

	mu      sync.Mutex
	last    int64 // the id of the last call
	pending map[int64]call
	err     error // why done is closed
}

func newConn(rwc io.ReadWriteCloser, wait time.Duration, wire func(byte, []byte)) *conn {
	if wire == nil {
		wire = func(byte, []byte) {}
	}
	return &conn{
		rwc: rwc, wire: wire, wait: wait,
		out: make(chan []byte, queued), done: make(chan struct{}), pending: make(map[int64]call),
	}
}

// withoutKey is a tap that is not shown the key, whoever says it.
func withoutKey(key string, wire func(byte, []byte)) func(byte, []byte) {
	if key == "" || wire == nil {
		return wire
	}
	quoted, _ := json.Marshal(key) // a text: it cannot fail
	secret := quoted[1 : len(quoted)-1]
	return func(dir byte, line []byte) { wire(dir, bytes.ReplaceAll(line, secret, []byte("[key]"))) }
}

// start runs the two goroutines until close. Each line goes to handle; the
// context it gets ends with the reading.
func (c *conn) start(ctx context.Context, handle func(ctx context.Context, line []byte)) {
	ctx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	c.wg.Go(c.write)
	c.wg.Go(func() {
		c.read(ctx, handle)
		stop(c.failure())
	})
}

func (c *conn) read(ctx context.Context, handle func(context.Context, []byte)) {
	in := newFrames(c.rwc)
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
		c.wire('<', line)
		handle(ctx, line)
	}
}

func (c *conn) write() {
	for {
		select {
		case line := <-c.out:
			c.wire('>', line[:len(line)-1])
			if _, err := c.rwc.Write(line); err != nil {
				c.fail(fmt.Errorf("writing to Codex: %w: %w: see its standard error", ErrPortExit, err))
				return
			}
		case <-c.done:
			return
		}
	}
}

// fail ends the connection for everybody who uses it. The first reason stays.
func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.done)
	}
}

// failure is why the connection ended; nil while it has not.
func (c *conn) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// close ends the connection and waits for everything that runs on it.
func (c *conn) close() error {
	c.fail(fmt.Errorf("the session: %w: it was closed", ErrPortExit))
	err := c.rwc.Close()
	c.wg.Wait()
	return err
}

// send hands a message to the writer.
func (c *conn) send(ctx context.Context, v any) error {
	line, err := encode(v)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case c.out <- line:
		return nil
	case <-c.done:
		return c.failure()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// answer sends a reply. A server that does not take it for as long as a request
// may last will never go on, so the connection ends.
func (c *conn) answer(r reply) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), c.wait,
		fmt.Errorf("answering Codex: %w: it reads nothing for %v", ErrResponseTimeout, c.wait))
	defer cancel()
	if err := c.send(ctx, r); err != nil {
		c.fail(err)
	}
}
