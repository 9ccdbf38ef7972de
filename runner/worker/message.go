package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
	"github.com/symphony-runner/symphony/workspace"
)

// Place describes the folders on a host, and the things that sessions there need besides their job.
type Place struct {
	Workspaces workspace.Config // Root is as WORKFLOW.md has it, with ~ and variables of the host
	Secrets    []string         // names of the variables that no child may see
}

// order is the job of a session, as a host gets it.
type order struct {
	Place
	Job         attempt.Job
	Key         string // key of the model's API; empty uses the login there
	BaseURL     string // address of that API; empty for OpenAI's
	Tools       []tool
	Rules       *string       // first part of the prompt of a second look; nil for the default
	TimeLeft    time.Duration // time until Job.StopAt; 0 for none
	Delivers    bool          // Job.Repository has a Deliver
	Settles     bool          // and a Settle
	Replies     bool
	Attachments bool                // the tracker reads pictures
	OnPull      bool                // pictures on the pull request can be read
	Session     *transcript.Session // of the event log; nil for none
	Whole       bool                // see [attempt.LogOptions]
}

// tool is a [tracker.Tool] that is called over the connection.
type tool struct {
	Name        string
	Description string
	InputSchema json.RawMessage
	Timeout     time.Duration
}

// message is a line of the answer to an order. One of its fields is set. The last one has the outcome or
// the failure.
type message struct {
	Update  *attempt.Update   `json:",omitempty"`
	Line    string            `json:",omitempty"` // of the event log
	Log     *record           `json:",omitempty"`
	Failure *failure          `json:",omitempty"` // reason why the session has not begun
	Ready   *bool             `json:",omitempty"` // the session can be given feedback, or no longer
	Outcome *schedule.Outcome `json:",omitempty"`
}

// maxMessage bounds a line, in bytes.
const maxMessage = 4 << 20

// readMessages gives each message of an answer to use, until its end.
func readMessages(r io.Reader, use func(message)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxMessage)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			if broken := lines.Err(); broken != nil { // in the middle of a line
				return broken
			}
			return fmt.Errorf("read a message: %w", err)
		}
		use(m)
	}
	return lines.Err()
}

// record is a [slog.Record] with the attributes that values of JSON can be.
type record struct {
	Level   slog.Level
	Message string
	Attrs   []any // names and values in turn
}

// relayHandler sends the log of a session to the other side.
type relayHandler struct {
	send  func(message)
	attrs []slog.Attr
}

func (h relayHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h relayHandler) Handle(_ context.Context, r slog.Record) error {
	out := &record{Level: r.Level, Message: r.Message}
	add := func(a slog.Attr) bool {
		value := a.Value.Resolve()
		switch value.Kind() {
		case slog.KindBool, slog.KindInt64, slog.KindUint64:
			out.Attrs = append(out.Attrs, a.Key, value.Any())
		default:
			out.Attrs = append(out.Attrs, a.Key, value.String())
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	h.send(message{Log: out})
	return nil
}

func (h relayHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)
	return h
}

// WithGroup ignores groups: sessions have none.
func (h relayHandler) WithGroup(string) slog.Handler { return h }

// writeTo writes the record to a log.
func (r *record) writeTo(log *slog.Logger) {
	for i, value := range r.Attrs {
		if number, ok := value.(float64); ok && number == float64(int64(number)) {
			r.Attrs[i] = int64(number)
		}
	}
	log.Log(context.Background(), r.Level, r.Message, r.Attrs...)
}

// stopArguments are the reason of a stop.
type stopArguments struct{ Reason schedule.Reason }

// reasonOf returns the reason with which a context was ended.
func reasonOf(ctx context.Context) schedule.Reason {
	if stop, ok := errors.AsType[schedule.StopError](context.Cause(ctx)); ok {
		return schedule.Reason(stop)
	}
	return schedule.Interrupted
}

// lineOf returns a message as a line.
func lineOf(m message) []byte {
	line, err := json.Marshal(m)
	if err != nil || bytes.IndexByte(line, '\n') >= 0 {
		panic(fmt.Sprintf("a message that is no line of JSON: %v", err)) // its types always marshal
	}
	return append(line, '\n')
}
