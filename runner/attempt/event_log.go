package attempt

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
	"github.com/symphony-runner/symphony/workspace"
)

const (
	maxEventLine = 64 << 10 // bytes; the long texts of a longer message lose their middle
	maxBriefLine = 4 << 10  // the same for a message after the limit of the log
	maxRelayed   = 1 << 20  // bytes of a line of another machine
	maxShortened = 4 << 20  // bytes; only the size of a longer message is kept
	// The limits of a log that is whole and of one that is not, in bytes. After it the log is
	// brief: long messages are shortened more, so that half as many bytes again keep the
	// commands and messages. Nothing is written after those, except the hooks and the outcome.
	maxWholeLog, maxEventLog = 64 << 20, 16 << 20

	// flushDelay bounds how long a line is only in memory. The log of a killed process may
	// lack the lines of this last time.
	flushDelay = 100 * time.Millisecond
)

// LogOptions say where and how an event log is written.
type LogOptions struct {
	Folder  string // absolute; the agent can read nothing in it
	Name    string // name of the file in it, see [transcript.Name]
	Session transcript.Session
	Whole   bool                // the log also has the pieces of texts and outputs, and messages that repeat others
	Foreign bool                // the folder may come with a repository: a link in its place is refused
	Live    *transcript.Live    // is given each line too; nil for none
	Redact  func(string) string // hides secrets; nil hides none
	Log     *slog.Logger
}

// EventLog writes the wire and the events of a session to a file, one [transcript.Line]
// after the other. A log that cannot be written is a warning, not a failure (SPEC §13.2).
// A nil EventLog writes nothing.
type EventLog struct {
	LogOptions

	mu      sync.Mutex
	relay   func(line string) // gets the lines in place of a file; nil for a file
	file    *os.File
	out     *bufio.Writer
	timer   *time.Timer // flushes out; nil if nothing waits in it
	written int         // bytes in the log
	limit   int         // bytes of written after which the log is brief
	lack    error       // reason why the log is not complete; nil if it is
	stopped bool        // the log ended early
	broken  bool        // it cannot be written any more
}

// OpenEventLog makes the log of a session and writes its first line.
func OpenEventLog(o LogOptions) *EventLog {
	if o.Redact == nil {
		o.Redact = func(text string) string { return text }
	}
	l := newEventLog(o)
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if o.Foreign {
		err = transcript.CheckFolder(o.Folder)
	}
	if err == nil {
		l.file, err = transcript.Create(o.Folder, o.Name)
	}
	if err != nil {
		l.stop(fmt.Errorf("no event log for this session: %w; make the folder of the logs writable", err))
		l.broken = true
		return l
	}
	l.out = bufio.NewWriter(l.file)
	l.writeLine(transcript.Line{Session: &l.Session})
	return l
}

// RelayEventLog returns the part of an event log that is on another machine. Its lines go to relay,
// one call at a time, which has [EventLog.Relayed] write them. It needs no End.
func RelayEventLog(o LogOptions, relay func(line string)) *EventLog {
	l := newEventLog(o)
	l.relay, l.out = relay, bufio.NewWriter(io.Discard)
	return l
}

func newEventLog(o LogOptions) *EventLog {
	l := &EventLog{LogOptions: o, limit: maxEventLog}
	if o.Whole {
		l.limit = maxWholeLog
	}
	return l
}

// Relayed writes a line of the part that is on another machine. It drops a line that this part could not
// have: one that is no line of a session, or more than a log may have.
func (l *EventLog) Relayed(line string) {
	if l == nil || len(line) > maxRelayed || strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
		return
	}
	var read transcript.Line
	if json.Unmarshal([]byte(line), &read) != nil || read.Session != nil || read.Outcome != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.stopped:
	case l.written > 2*l.limit:
		l.stop(fmt.Errorf("the event log ends early: the host has sent more than the limit of %d bytes", 2*l.limit))
	default:
		l.appendLine(line)
		l.flush()
	}
}

// End writes the outcome of the session, closes the log, and returns the outcome with a warning
// if the log is not complete.
func (l *EventLog) End(o schedule.Outcome) schedule.Outcome {
	if l == nil {
		return o
	}
	lack := l.end(transcript.Outcome{
		Class: string(o.Class), Status: string(o.Status), Why: o.Why, Question: o.Question, Refused: o.Refused, Warnings: o.Warnings,
		Turns: o.Turns, Input: o.Usage.Input, Output: o.Usage.Output,
	})
	if lack != nil {
		o.Warnings = append(o.Warnings, l.Redact(lack.Error()))
	}
	return o
}

// EndRemoval writes the outcome of the removal of a workspace, and closes the log. err is the
// reason why the workspace is still there; nil if it is gone.
func (l *EventLog) EndRemoval(err error) {
	o := transcript.Outcome{Class: transcript.Removed}
	if err != nil {
		o.Class, o.Why = transcript.NotRemoved, text.OneLine(l.Redact(err.Error()), maxWhy)
	}
	_ = l.end(o) // the log has its own warning if it is not complete
}

// end writes the last line, closes the log, and returns an error if the log is not complete.
func (l *EventLog) end(o transcript.Outcome) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writeLine(transcript.Line{Outcome: &o})
	if l.file != nil {
		if err := l.file.Close(); err != nil {
			l.fail(err)
		}
	}
	return l.lack
}

// folder returns the folder of all logs, empty if the session has none.
func (l *EventLog) folder() string {
	if l == nil {
		return ""
	}
	return l.Folder
}

// wire writes one message. The reader and the writer of the session call it.
func (l *EventLog) wire(dir byte, line []byte) {
	if l == nil {
		return
	}
	method := methodOf(line)
	piece := isPiece(method)
	longest, brief := maxEventLine, l.brief()
	if brief {
		longest = maxBriefLine
	}
	if (brief || !l.Whole) && (piece || repeats[string(method)]) {
		return
	}
	m := transcript.Line{Dir: string(dir)}
	switch {
	case piece: // a secret can be spread over pieces, or encoded in them, which no redaction finds
		m.Omitted = len(line)
	case len(line) > longest:
		m.Msg = shorten([]byte(l.redactLong(line)), longest)
		m.Omitted = max(len(line)-len(m.Msg), 1)
	case dir == '>' || json.Valid(line): // a sent message is valid
		m.Msg = line
	default:
		m.Msg, _ = json.Marshal(string(line)) // a string always marshals
	}
	l.write(m)
}

// brief reports whether the log has reached its limit. The first time it says so.
func (l *EventLog) brief() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written <= l.limit {
		return false
	}
	if l.lack == nil {
		l.lacks(fmt.Errorf("the event log is not complete: after its limit of %d bytes it has long messages without most of their text", l.limit))
	}
	return true
}

// redactLong hides the secrets of a long message before it is shortened, because a part
// of one would not be found. It returns "" for a message that is too long for that.
func (l *EventLog) redactLong(line []byte) string {
	if len(line) > maxShortened {
		return ""
	}
	return l.Redact(string(line))
}

// event writes one event, unless the log already has the message that it was made of.
func (l *EventLog) event(event codex.Event) {
	if l == nil || event.Kind == codex.Notification || event.Kind == codex.OtherMessage {
		return
	}
	l.write(transcript.Line{Event: &event})
}

// Hook writes that a hook, which began at the given time, failed. It writes nothing if err is
// not a [workspace.HookError].
func (l *EventLog) Hook(began time.Time, err error) {
	failed, ok := errors.AsType[*workspace.HookError](err)
	if l == nil || !ok {
		return
	}
	var status *int
	if exit, ok := errors.AsType[*workspace.ExitError](failed); ok {
		status = &exit.Code
	}
	l.hook(failed.Hook, failed.Lines, status, time.Since(began), text.OneLine(l.Redact(failed.Error()), maxWhy))
}

// hook writes the result of a hook. output is the end of its output.
func (l *EventLog) hook(name, output string, exit *int, took time.Duration, failure string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writeLine(transcript.Line{Hook: &transcript.Hook{Name: name, Exit: exit, Error: failure, Output: output, Millis: took.Milliseconds()}})
}

// write appends a line, unless the log has ended. The line is in the file within
// flushDelay, for readers that follow the log.
func (l *EventLog) write(e transcript.Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.stopped:
		return
	case l.written > l.limit+l.limit/2:
		l.stop(fmt.Errorf("the event log ends early: it has reached its limit of %d bytes", l.limit+l.limit/2))
		return
	}
	l.append(e)
	if l.timer == nil {
		l.timer = time.AfterFunc(flushDelay, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.flush()
		})
	}
}

// writeLine writes a line at once, even above the limit. l.mu must be held.
func (l *EventLog) writeLine(e transcript.Line) {
	l.append(e)
	l.flush()
}

// append appends a line. l.mu must be held.
func (l *EventLog) append(e transcript.Line) {
	e.Millis = max(time.Since(l.Session.Began), 0).Milliseconds()
	line, err := encode(e)
	if err != nil {
		l.fail(err)
		return
	}
	l.appendLine(line)
}

// appendLine appends a line that is encoded. l.mu must be held.
func (l *EventLog) appendLine(line string) {
	if l.broken {
		return
	}
	line = l.Redact(line)
	if l.relay != nil {
		l.written += len(line)
		l.relay(line)
		return
	}
	if l.Live != nil {
		l.Live.Line([]byte(line))
	}
	n, err := l.out.WriteString(line)
	l.written += n
	if err != nil {
		l.fail(err)
	}
}

// encode returns a line of a log. A message is copied as it is, because most lines are
// messages and encoding takes time.
func encode(e transcript.Line) (string, error) {
	if e.Msg != nil && e.Omitted == 0 {
		return `{"t_ms":` + strconv.FormatInt(e.Millis, 10) + `,"dir":"` + e.Dir + `","msg":` + string(e.Msg) + "}\n", nil
	}
	var line strings.Builder
	out := json.NewEncoder(&line)
	out.SetEscapeHTML(false) // people read it
	err := out.Encode(e)
	return line.String(), err
}

// flush writes the appended lines to the file. l.mu must be held.
func (l *EventLog) flush() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	if l.broken {
		return
	}
	if err := l.out.Flush(); err != nil {
		l.fail(err)
	}
}

// fail ends a log that cannot be written. l.mu must be held.
func (l *EventLog) fail(err error) {
	l.broken = true
	if !l.stopped {
		l.stop(fmt.Errorf("the event log ends early: %w; look for room on the disk of the logs", err))
	}
}

// stop ends the log and logs why. l.mu must be held.
func (l *EventLog) stop(err error) {
	l.stopped = true
	l.lacks(err)
}

// lacks logs why the log is not complete, and keeps it for the outcome. l.mu must be held.
func (l *EventLog) lacks(why error) {
	l.lack = why
	l.Log.Warn(why.Error())
}

// methodOf returns the method of a message, empty if it does not begin with it.
func methodOf(line []byte) []byte {
	const head = 100 // bytes in which the method is
	_, method, _ := bytes.Cut(line[:min(len(line), head)], []byte(`"method":"`))
	method, _, _ = bytes.Cut(method, []byte(`"`))
	return method
}

// isPiece reports whether a method belongs to a piece of a text or an output. The whole text
// comes in a later message.
func isPiece(method []byte) bool { return bytes.HasSuffix(method, []byte("elta")) }

// repeats holds the methods of messages that repeat other messages, or are of no use to
// readers.
var repeats = map[string]bool{
	"thread/started": true, "thread/status/changed": true, "thread/readState/changed": true, "thread/name/updated": true,
	"account/rateLimits/updated": true, "remoteControl/status/changed": true, "turn/diff/updated": true,
}

// shorten returns a JSON message of at most longest bytes, in which long texts have
// lost their middle and long lists their end; nil if that is not possible.
func shorten(message []byte, longest int) json.RawMessage {
	in := json.NewDecoder(bytes.NewReader(message))
	in.UseNumber()
	var v any
	if in.Decode(&v) != nil {
		return nil
	}
	for limit := longest / 4; limit >= 64; limit /= 4 {
		var b bytes.Buffer
		out := json.NewEncoder(&b)
		out.SetEscapeHTML(false)
		if out.Encode(shortenValue(v, limit)) == nil && b.Len() <= longest {
			return bytes.TrimSpace(b.Bytes())
		}
	}
	return nil
}

// shortenValue returns a value of JSON with texts of about limit bytes, and lists of a
// sixteenth as many elements.
func shortenValue(v any, limit int) any {
	switch v := v.(type) {
	case string:
		short, _ := transcript.WithoutMiddle(v, limit)
		return short
	case []any:
		short := make([]any, min(len(v), max(limit/16, 1)))
		for i := range short {
			short[i] = shortenValue(v[i], limit)
		}
		return short
	case map[string]any:
		short := make(map[string]any, len(v))
		for name, of := range v {
			short[name] = shortenValue(of, limit)
		}
		return short
	}
	return v
}
