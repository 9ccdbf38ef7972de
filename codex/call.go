package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

const (
	overloadTries = 4                      // of a request that the server is too busy for
	overloadPause = 100 * time.Millisecond // before the second try; doubles
)

// call is a request of ours that the server has not answered yet.
type call struct {
	method string
	then   answered
}

// answered gets the outcome of a call, on the read loop and before anything
// that the server sends after it. It never gets called when the connection ends.
type answered func(result json.RawMessage, err error)

// begin sends a request. Whether it is answered before the connection ends is
// for the caller to watch; forget gives up.
func (c *conn) begin(ctx context.Context, method string, params any, then answered) (id int64, err error) {
	c.mu.Lock()
	c.last++
	id = c.last
	c.pending[id] = call{method, then}
	c.mu.Unlock()
	if err := c.send(ctx, request{ID: id, Method: method, Params: params}); err != nil {
		c.forget(id)
		return 0, fmt.Errorf("%s: %w", method, err)
	}
	return id, nil
}

// forget reports whether the answer was still awaited.
func (c *conn) forget(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, awaited := c.pending[id]
	delete(c.pending, id)
	return awaited
}

// resolve gives a reply to the call it belongs to, if there is one.
func (c *conn) resolve(m message) bool {
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
		refused.Message = string(m.Error) // of another shape, but a refusal
	}
	call.then(nil, &ResponseError{Method: call.method, Code: refused.Code, Message: refused.Message, Data: refused.Data})
	return true
}

// call asks and waits for the answer for at most wait. A server that is too
// busy is asked again within that time. accept, when not nil, gets the result
// as answered does.
func (c *conn) call(ctx context.Context, wait time.Duration, method string, params any, accept func(json.RawMessage) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, wait,
		fmt.Errorf("%w: no answer in %v: raise codex.read_timeout_ms if the machine is slow", ErrResponseTimeout, wait))
	defer cancel()
	for try := 0; ; try++ {
		err := c.ask(ctx, method, params, accept)
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

func (c *conn) ask(ctx context.Context, method string, params any, accept func(json.RawMessage) error) error {
	outcome := make(chan error, 1)
	id, err := c.begin(ctx, method, params, func(result json.RawMessage, err error) {
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
	return <-outcome // the read loop has it in hand
}
