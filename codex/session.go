package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// What Config leaves at zero (SPEC §5.3.6), and the least time that two answers
// get. Before the first the server may have to be unpacked. Before it answers a
// turn/start with our profile it reads the skills of the repository, through a
// sandbox for each look at a file (see permissions): half a second of a processor
// for each skill.
const (
	defaultReadTimeout = 5 * time.Second
	defaultTurnTimeout = time.Hour
	defaultToolCalls   = 1000
	initializeTimeout  = 30 * time.Second
	turnStartTimeout   = 2 * time.Minute
)

// Options are what a session is made of.
type Options struct {
	Version string // of this program, for the server's log
	PID     int    // of the app-server, for events
	Cwd     string // the workspace, absolute
	Name    string // of the thread: "ABC-1: Title"
	Config  Config // a timeout or bound that is not positive is the default
	Tools   []Tool
	Resume  string // the thread to go on with; "" starts a new one
	Prompt  string // of the workflow: the skills it names are looked for by a check

	Key  string // an API key to log in with; "" leaves it to the server's own login
	Home string // the Codex home that the server must have; "" is any
	Temp string // a folder, absolute, that the agent may write and gets as TMPDIR; "" is none
	// Deny returns the paths that the agent may not read: absolute, without links,
	// for Codex can deny no link. It is called once, when the server is up, with the
	// server's Codex home. nil denies that home alone. Cwd and Temp stay readable.
	Deny       func(home string) []string
	Repository bool // the workspace is a git repository, and the agent may commit

	// Events is called for everything that happens, one call at a time, from
	// the read loop for what the server says. It must return at once.
	Events func(Event)
	// Wire sees every line as it is read ('<') and written ('>'), the two
	// directions at the same time. The line is valid during the call and holds
	// whatever the two sides say to each other, secrets too; but never the Key.
	Wire func(dir byte, line []byte)
}

// Session is a conversation with one app-server on one thread.
type Session struct {
	o               Options
	conn            *conn
	server          serverInfo
	handlers        map[string]requestHandler
	toolSlots       chan struct{} // one for each tool call that runs
	resumed         bool
	hasUnreadLimits bool      // the login has rate limits that nobody has read yet
	toolCalls       int       // of tools so far; of the read loop
	deltaQuietUntil time.Time // until then deltas make no event; of the read loop

	eventsMu sync.Mutex // held while Events runs

	mu      sync.Mutex
	posture posture // may be lowered for an older server
	thread  string
	turn    *turn // in progress; nil between turns
	meter   usageMeter
	limits  json.RawMessage // the latest snapshot
}

// Open shakes hands over a connection and opens a thread (SPEC §10.2). The
// connection is the session's from then on and is closed when Open fails; its
// Close must end a Read and a Write that wait. ctx bounds the opening alone.
//
// A thread that cannot be resumed is replaced by a new one; see [Session.Resumed].
// The errors are [ErrResponseTimeout], [ErrPortExit], [ErrResponse],
// [ErrNotLoggedIn], [ErrTooOld], [ErrPosture], the cause of ctx, and a thread_sandbox that
// Codex does not know.
func Open(ctx context.Context, rwc io.ReadWriteCloser, o Options) (*Session, error) {
	s, err := connect(ctx, rwc, o, (*Session).openThread)
	if err != nil {
		return nil, fmt.Errorf("opening a Codex session: %w", err)
	}
	return s, nil
}

// connect makes a session of a connection, and begins with it what is asked for.
// When that fails the connection is closed.
func connect(ctx context.Context, rwc io.ReadWriteCloser, o Options, begin func(*Session, context.Context) error) (*Session, error) {
	if o.Config.ReadTimeout <= 0 {
		o.Config.ReadTimeout = defaultReadTimeout
	}
	if o.Config.TurnTimeout <= 0 {
		o.Config.TurnTimeout = defaultTurnTimeout
	}
	if o.Config.MaxToolCalls <= 0 {
		o.Config.MaxToolCalls = defaultToolCalls
	}
	s := &Session{
		o:         o,
		conn:      newConn(rwc, o.Config.ReadTimeout, maskKey(o.Key, o.Wire)),
		toolSlots: make(chan struct{}, maxConcurrentTools),
		meter:     usageMeter{resumed: o.Resume, threads: make(map[string]*threadUsage)},
	}
	s.handlers = s.requestHandlers()
	s.conn.start(ctx, s.handleLine)
	err := s.prepare(ctx)
	if err == nil {
		err = begin(s, ctx)
	}
	if err != nil {
		s.emit(Event{Kind: StartupFailed, Summary: err.Error()})
		_ = s.conn.close() // err says more
		return nil, err
	}
	return s, nil
}

// prepare settles the posture with the server.
func (s *Session) prepare(ctx context.Context) (err error) {
	if s.posture, err = newPosture(s.o); err != nil {
		return err
	}
	if s.server, err = s.handshake(ctx); err != nil {
		return err
	}
	if given := s.posture.complete(s.o, s.server); len(given) > 0 {
		s.warn("codex.command sets what the guard would set otherwise: " + strings.Join(given, ", "))
	}
	return nil
}

func (s *Session) openThread(ctx context.Context) error {
	if err := s.resumeOrStart(ctx, s.o.Config.ReadTimeout); err != nil {
		return err
	}
	return s.setThreadName(ctx)
}

func (s *Session) resumeOrStart(ctx context.Context, wait time.Duration) error {
	if s.o.Resume != "" {
		err := s.conn.call(ctx, wait, "thread/resume", s.posture.resume(s.o), s.threadOpened)
		if err == nil {
			s.resumed = true
			return nil
		}
		if ctx.Err() != nil || s.conn.failure() != nil || errors.Is(err, ErrPosture) {
			return err
		}
		s.warn(fmt.Sprintf("starting a new thread: %v", err))
	}
	for {
		err := s.conn.call(ctx, wait, "thread/start", s.posture.start(s.o), s.threadOpened)
		if err == nil || !s.retryDowngraded(err) {
			return err
		}
	}
}

// retryDowngraded reports whether a refused request is worth another try, without what
// the server is too old for.
func (s *Session) retryDowngraded(err error) bool {
	refused, ok := errors.AsType[*ResponseError](err)
	if !ok {
		return false
	}
	s.mu.Lock()
	lost := s.posture.downgradeFor(s.o, refused)
	s.mu.Unlock()
	if lost != "" {
		s.warn("this Codex is too old: going on without " + lost)
	}
	return lost != ""
}

// threadOpened takes the thread's id from result.thread.id or, from older servers,
// result.id, and sees to it that the thread is what was asked for.
func (s *Session) threadOpened(result json.RawMessage) error {
	id, err := resultID("thread", result)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.thread = id
	lost := ""
	if s.posture.sandbox == nil && activeProfile(result) == "" {
		lost = s.posture.dropProfile(s.o)
	}
	err = s.posture.verifyThread(s.o, result)
	s.mu.Unlock()
	if lost != "" {
		s.warn("this Codex is too old: going on without " + lost)
	}
	return err
}

func resultID(what string, result json.RawMessage) (string, error) {
	id := cmp.Or(text(member(result, what), "id"), text(result, "id"))
	if id == "" {
		return "", fmt.Errorf("%s/start: %w: the answer has no id of the %[1]s: is this a Codex app-server?", what, ErrResponse)
	}
	return id, nil
}

// setThreadName calls the thread what people call the issue. Nothing depends on it, so
// nothing waits for it.
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

// ThreadID is the thread to resume in a later session, once a turn has started.
func (s *Session) ThreadID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.thread
}

// Resumed says that the thread is the one of Options.Resume.
func (s *Session) Resumed() bool { return s.resumed }

// Usage is what the session has spent so far, sub-agents included.
func (s *Session) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meter.spent()
}

// Close closes the connection and waits for the read loop, and for the tools,
// whose context ends. It interrupts nothing: a turn in progress ends with
// [ErrPortExit]. The error is the connection's.
func (s *Session) Close() error { return s.conn.close() }

// handleLine deals with one line; on the read loop.
func (s *Session) handleLine(ctx context.Context, line []byte) {
	m, err := parseMessage(line)
	switch {
	case err != nil:
	case m.Method != nil && m.ID != nil:
		s.answerRequest(ctx, m)
	case m.Method != nil:
		err = s.handleNotification(*m.Method, m.Params)
	case !s.conn.deliverReply(m):
		s.emit(Event{Kind: OtherMessage, Summary: "an answer that nobody waits for", Progress: true})
	}
	if err != nil {
		s.emit(Event{Kind: Malformed, Summary: fmt.Sprintf("%v: %.200q", err, line)})
	}
}
