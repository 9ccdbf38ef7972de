package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Session is a conversation with one app-server on one thread.
type Session struct {
	*core
	requests      *requests
	notifications *notifications
	spending      *spending
	programs      *programs
	*sandbox
	resumed bool // set before Open returns
}

func newSession(c *core) *Session {
	s := &Session{core: c}
	s.spending = &spending{core: c, meter: newUsageMeter(c.o.Resume), tariffs: newTariffs(c.o.LongInput)}
	s.programs = &programs{core: c, running: make(map[string]*execOutput)}
	s.sandbox = &sandbox{core: c, programs: s.programs, tried: make(map[string]bool)}
	s.requests = newRequests(c)
	s.notifications = &notifications{core: c, spending: s.spending, programs: s.programs}
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
	s, err := connect(ctx, rwc, o, (*Session).openThread)
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

// OpenThread opens the thread of a session that [Connect] returned. After an error the
// session has failed to start. It fails with the errors of Open.
func (s *Session) OpenThread(ctx context.Context) error {
	if err := s.openThread(ctx); err != nil {
		s.emit(Event{Kind: StartupFailed, Summary: err.Error()})
		return fmt.Errorf("opening a Codex session: %w", err)
	}
	return nil
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
		if err := s.join(ctx); err != nil {
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
	if err := s.sandbox.closeLoopback(ctx); err != nil {
		return err
	}
	if overridden := s.posture.complete(s.o, s.server, s.sandbox.rules); len(overridden) > 0 {
		s.warn("codex.command sets what the guard would set otherwise: " + strings.Join(overridden, ", "))
	}
	if s.o.Shared != "" {
		return s.share(ctx, false)
	}
	if s.o.SaveProfile == nil {
		return nil
	}
	return s.o.SaveProfile(strings.Join(serverSettings(s.sandbox.rules), "\n") + "\n")
}

func (s *Session) openThread(ctx context.Context) error {
	err := s.resumeOrStart(ctx, s.o.Config.ReadTimeout)
	if err == nil {
		err = s.sandbox.verifyLoopback(ctx)
	}
	if err != nil {
		return err
	}
	return s.setThreadName(ctx)
}

// resumeOrStart resumes the thread of Options.Resume. It starts a new one if there is
// none or it cannot be resumed.
func (s *Session) resumeOrStart(ctx context.Context, wait time.Duration) error {
	if s.o.Resume != "" {
		err := s.conn.call(ctx, wait, "thread/resume", s.posture.resume(s.o, s.server), s.threadOpened)
		if err == nil {
			s.resumed = true
			return nil
		}
		if lacks := errors.Is(err, ErrPosture) || errors.Is(err, ErrTooOld); ctx.Err() != nil || s.conn.failure() != nil || lacks {
			if ctx.Err() == nil && !lacks {
				err = fmt.Errorf("%w: %w", ErrNotResumed, err)
			}
			return err
		}
		s.warn(fmt.Sprintf("starting a new thread: %v", err))
	}
	return s.checkAge(s.conn.call(ctx, wait, "thread/start", s.posture.start(s.o), s.threadOpened))
}

// checkAge returns the error of a request as [ErrTooOld] if the server refused a part of the posture
// that it does not know. A session never begins with less: without the permission profile the
// agent could read logins and keys.
func (s *Session) checkAge(err error) error {
	refused, ok := errors.AsType[*ResponseError](err)
	if !ok {
		return err
	}
	if what := s.posture.lacking(refused); what != "" {
		return tooOld(what, err)
	}
	return err
}

func tooOld(what string, err error) error {
	return fmt.Errorf("%w: install Codex 0.169 or later: this one does not know %s: %w", ErrTooOld, what, err)
}

// threadOpened records the thread's id from result.thread.id or, from older servers, result.id.
// It fails if the thread does not have the posture that was asked for.
func (s *Session) threadOpened(result json.RawMessage) error {
	answer := members(result)
	id, err := resultID("thread", answer)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.thread = id
	s.spending.tariffs.main = id
	s.spending.tariffs.set(id, answer)
	s.mu.Unlock()
	return s.posture.verifyThread(s.o, answer)
}

func resultID(what string, result object) (string, error) {
	id := cmp.Or(textMember(result[what], "id"), result.text("id"))
	if id == "" {
		return "", fmt.Errorf("%s/start: %w: the answer has no id of the %[1]s: is this a Codex app-server?", what, ErrResponse)
	}
	return id, nil
}

// setThreadName gives the thread the name of the issue. It does not wait for the
// answer, because nothing depends on the name.
func (s *Session) setThreadName(ctx context.Context) error {
	if s.o.Name == "" {
		return nil
	}
	params := map[string]string{"threadId": s.ThreadID(), "name": s.o.Name}
	_, err := s.conn.sendCall(ctx, "thread/name/set", params, func(_ json.RawMessage, err error) {
		if err != nil {
			s.emit(Event{Kind: Notification, Summary: fmt.Sprintf("the thread has no name: %v", err)})
		}
	})
	return err
}

// Resumed reports whether the session continues the thread Options.Resume.
func (s *Session) Resumed() bool { return s.resumed }

// Usage returns the tokens that the session has used so far, including sub-agents.
func (s *Session) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spending.meter.total()
}

// Tariffs returns the same tokens by tariff, in no order.
func (s *Session) Tariffs() []TariffUsage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return listed(s.spending.meter.spent)
}

// Close closes the connection, ends the context of tool calls, and waits for them and
// for the read loop. It does not interrupt a turn in progress, which ends with
// [ErrPortExit]. It fails with the error of the connection.
func (s *Session) Close() error {
	s.leave()
	return s.conn.close()
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
