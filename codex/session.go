package codex

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// Session is a conversation with one app-server on one thread. Most methods belong to its parts:
// they are named beside them.
type Session struct {
	*core         // ThreadID, CleanTerminals
	requests      *requests
	notifications *notifications
	*spending     // Tariffs
	*sandbox      // Exec, CanExec
	*threads      // OpenThread, Resumed
	*checks       // Check, TakesImages
	*turns        // Turn, Steer, Review
	sharing       *sharing
	doorway       *doorway
}

func newSession(c *core) *Session {
	s := &Session{core: c, requests: newRequests(c)}
	s.spending = &spending{core: c, meter: newUsageMeter(c.o.Resume), tariffs: tariffs{
		model: map[string]string{}, tier: map[string]string{}, rerouted: map[string]string{}, long: c.o.LongInput,
	}}
	programs := &programs{core: c, running: make(map[string]*execOutput)}
	s.sandbox = &sandbox{core: c, programs: programs, tried: make(map[string]bool)}
	s.threads = &threads{core: c, spending: s.spending, sandbox: s.sandbox}
	s.checks = &checks{core: c, spending: s.spending, sandbox: s.sandbox, threads: s.threads}
	s.turns = &turns{core: c, spending: s.spending, sandbox: s.sandbox}
	s.sharing = &sharing{core: c, sandbox: s.sandbox}
	s.doorway = &doorway{core: c}
	s.notifications = &notifications{core: c, spending: s.spending, programs: programs}
	return s
}

// Open makes the handshake on a connection and opens a thread (SPEC §10.2). The session
// owns the connection from then on; Open closes it on failure. Close of the connection
// must end a Read and a Write that wait. ctx bounds Open only.
//
// A thread that cannot be resumed is replaced by a new one; see [Session.Resumed]. The
// errors are [ErrResponseTimeout], [ErrPortExit], [ErrResponse], [ErrNotLoggedIn],
// [ErrTooOld], [ErrNotResumed], [ErrSettings], [ErrPosture], and the cause of ctx.
func Open(ctx context.Context, rwc io.ReadWriteCloser, o Options) (*Session, error) {
	s, err := connect(ctx, rwc, o, func(s *Session, ctx context.Context) error { return s.threads.open(ctx) })
	if err != nil {
		return nil, fmt.Errorf("opening a Codex session: %w", err)
	}
	return s, nil
}

// Connect makes the handshake on a connection without opening a thread, for
// [Session.Exec] before the first turn, or after a session that has crashed.
// [Session.OpenThread] makes it the session that Open returns. The rest is as for Open.
func Connect(ctx context.Context, rwc io.ReadWriteCloser, o Options) (*Session, error) {
	s, err := connect(ctx, rwc, o, func(*Session, context.Context) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("connecting to Codex: %w", err)
	}
	return s, nil
}

// connect starts a session on a connection, and calls begin with it after the
// handshake. It closes the connection on failure.
func connect(ctx context.Context, rwc io.ReadWriteCloser, o Options, begin func(*Session, context.Context) error) (*Session, error) {
	if o.Config.ReadTimeout <= 0 {
		o.Config.ReadTimeout = defaultReadTimeout
	}
	if o.Config.TurnTimeout <= 0 {
		o.Config.TurnTimeout = defaultTurnTimeout
	}
	if o.Config.MaxToolCalls <= 0 {
		o.Config.MaxToolCalls = DefaultToolCalls
	}
	s := newSession(&core{o: o, conn: newConn(rwc, o.Config.ReadTimeout, maskKey(o.Key, o.Wire))})
	s.conn.start(ctx, s.handleLine)
	err := s.prepare(ctx)
	if err == nil {
		err = begin(s, ctx)
	}
	if err != nil {
		s.emit(Event{Kind: StartupFailed, Summary: err.Error()})
		_ = s.Close() // err says more
		return nil, err
	}
	return s, nil
}

// prepare makes the handshake, determines the posture, and saves the profile if the
// host can.
func (s *Session) prepare(ctx context.Context) (err error) {
	if s.posture, err = newPosture(s.o); err != nil {
		return err
	}
	if s.server, err = s.handshake(ctx); err != nil {
		return err
	}
	if s.o.Shared != "" {
		if err := s.sharing.join(ctx); err != nil {
			return err
		}
	}
	if s.posture.sandbox == nil || s.o.SaveProfile != nil || s.o.ProfileGiven || s.o.Shared != "" {
		s.sandbox.denied = s.o.denied(s.server.home, s.server.shared.pid)
		s.sandbox.rules = permissions(s.o, s.sandbox.denied)
	}
	if err := s.sandbox.checkPaths(); err != nil {
		return err
	}
	if err := s.sandbox.checkNetworks(); err != nil {
		return err
	}
	if err := s.doorway.open(); err != nil {
		return err
	}
	if err := s.sandbox.closeLoopback(ctx); err != nil {
		return err
	}
	if overridden := s.posture.complete(s.o, s.server, s.sandbox.rules); len(overridden) > 0 {
		s.warn("codex.command sets what the guard would set otherwise: " + strings.Join(overridden, ", "))
	}
	if s.o.Shared != "" {
		return s.sharing.write(ctx, false)
	}
	if s.o.SaveProfile == nil {
		return nil
	}
	return s.o.SaveProfile(strings.Join(serverSettings(s.sandbox.rules), "\n") + "\n")
}

// Close closes the connection, ends the context of tool calls, and waits for them and
// for the read loop. It does not interrupt a turn in progress, which ends with
// [ErrPortExit]. It fails with the error of the connection.
func (s *Session) Close() error {
	s.sharing.leave()
	err := s.conn.close()
	s.doorway.close()
	return err
}

// handleLine handles one line from the server, on the read loop.
func (s *Session) handleLine(ctx context.Context, line []byte) {
	m, err := parseMessage(line)
	switch {
	case err != nil:
	case m.Method != nil && m.ID != nil:
		s.requests.answer(ctx, m)
	case m.Method != nil:
		err = s.notifications.handle(*m.Method, m.Params)
	case !s.conn.deliverReply(m):
		s.emit(Event{Kind: OtherMessage, Summary: "an answer to no call", Progress: true})
	}
	if err != nil {
		s.emit(Event{Kind: Malformed, Summary: fmt.Sprintf("%v: %.200q", err, line)})
	}
}
