package codex

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
)

// core is shared by the parts of a session: its options, the connection, the server's
// description of itself, the posture, the events, and the thread with its turn.
//
// It has two mutexes, and the connection and the output of each program of the host have one.
// core.mu guards the fields below it, the fields of the turn in progress, and the fields of the
// other parts that say so; conn.mu guards the calls without an answer and the reason why the
// connection ended; execOutput.mu guards the output that is not written yet. None of the three
// is held while another mutex is acquired or while code of the caller runs. core.eventsMu is
// held while Options.Events runs, which may therefore call ThreadID, Resumed and Tariffs. It is
// acquired before core.mu: emit must not be called with core.mu held. Methods whose name ends
// in Locked require core.mu, and methods of execOutput its own mutex.
//
// Fields above the mutexes do not change after prepare.
type core struct {
	o       Options
	conn    *conn
	server  serverInfo
	posture posture

	eventsMu sync.Mutex // held while Options.Events runs

	mu        sync.Mutex
	thread    string
	turn      *turn            // turn in progress; nil between turns
	reviews   map[string]*turn // turns of reviews by their threads, also after their end
	reviewing bool             // a review is in progress
}

// ThreadID returns the id of the thread. A later session can resume the thread once a
// turn has started.
func (c *core) ThreadID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.thread
}

// turnLocked returns the turn that a message about a thread concerns, nil for none: a review, or
// the turn in progress. Every other thread is ours or a sub-agent's. core.mu must be held.
func (c *core) turnLocked(thread string) *turn {
	if review := c.reviews[thread]; review != nil {
		return review
	}
	return c.turn
}

// call makes a call within codex.read_timeout_ms.
func (c *core) call(ctx context.Context, method string, params any, accept func(json.RawMessage) error) error {
	return c.conn.call(ctx, c.o.Config.ReadTimeout, method, params, accept)
}

// callOptional makes a call that older servers may refuse. It returns nil then, and
// accept is not called.
func (c *core) callOptional(ctx context.Context, method string, params any, accept func(json.RawMessage) error) error {
	err := c.call(ctx, method, params, accept)
	if _, refused := errors.AsType[*ResponseError](err); refused {
		return nil
	}
	return err
}

// checkAge returns the error of a request as [ErrTooOld] if the server refused a part of the posture
// that it does not know. A session never begins with less: without the permission profile the
// agent could read logins and keys.
func (c *core) checkAge(err error) error {
	refused, ok := errors.AsType[*ResponseError](err)
	if !ok {
		return err
	}
	if what := c.posture.lacking(refused); what != "" {
		return tooOld(what, err)
	}
	return err
}
