package codex

import (
	"encoding/json"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

// Kind is the kind of an [Event], named as in SPEC §10.4.
type Kind string

const (
	SessionStarted       Kind = "session_started" // once per turn, when its session id is known
	StartupFailed        Kind = "startup_failed"
	TurnCompleted        Kind = "turn_completed"
	TurnFailed           Kind = "turn_failed"
	TurnCancelled        Kind = "turn_cancelled"
	TurnEndedWithError   Kind = "turn_ended_with_error" // timeout, lost connection, refused request
	TurnInputRequired    Kind = "turn_input_required"
	ApprovalAutoApproved Kind = "approval_auto_approved"
	UnsupportedToolCall  Kind = "unsupported_tool_call"
	Notification         Kind = "notification"
	OtherMessage         Kind = "other_message" // a reply to no call, or an unknown request
	Malformed            Kind = "malformed"
	Warning              Kind = "warning" // our own: a problem that did not end the session, for people
)

// Event is one thing that happened in a session. Each turn ends in exactly one
// of the turn events.
type Event struct {
	Kind       Kind
	Time       time.Time     // UTC
	PID        int           // id of the app-server's process; 0 when unknown
	Thread     string        // the session's thread
	Turn       string        // turn in progress; "" between turns
	Session    string        // Thread-Turn (SPEC §4.2); "" between turns
	Method     string        // method of the protocol; "" for an event of our own
	Summary    string        // one line for people of at most 120 characters, 500 of a Warning
	Doing      string        // present work of the agent, as short as the Summary; "" when the event does not say
	Said       string        // a whole message of the agent, in several lines; "" for every other event
	Tariffs    []TariffUsage // tokens of the session so far by tariff, in no order; nil if the event does not report them
	RateLimits json.RawMessage
	Blocked    []Blocked // hosts that a command was refused, if the turns have a network of named hosts

	// Progress reports whether the event counts as activity for stall detection
	// (SPEC §8.5). A malformed line does not count, nor does Codex waiting for the
	// network.
	Progress bool
}

const (
	summaryRunes = 120
	messageRunes = 500      // runes of a message in an error
	maxSaid      = 16 << 10 // bytes of a message of the agent
)

// emit completes an event and passes it to Options.Events, one at a time. core.mu
// must not be held.
func (c *core) emit(e Event) {
	if c.o.Events == nil {
		return
	}
	limit := summaryRunes
	if e.Kind == Warning {
		limit = messageRunes // a warning names the loss and the remedy
	}
	e.Time, e.PID = time.Now().UTC(), c.o.PID
	e.Summary, e.Doing = text.OneLine(e.Summary, limit), text.OneLine(e.Doing, summaryRunes)
	e.Said = text.Cut(text.Lines(e.Said), maxSaid, "")
	c.mu.Lock()
	e.Thread = c.thread
	if c.turn != nil && c.turn.id != "" {
		e.Turn = c.turn.id
		e.Session = e.Thread + "-" + e.Turn
	}
	c.mu.Unlock()
	c.eventsMu.Lock()
	defer c.eventsMu.Unlock()
	c.o.Events(e)
}

// warn emits a Warning: a problem that did not end the session and that the server
// does not report itself.
func (c *core) warn(text string) { c.emit(Event{Kind: Warning, Summary: text}) }
