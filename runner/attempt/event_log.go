package attempt

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/codex"
)

const (
	maxEventLine = 64 << 10 // a longer message is replaced by its size
	maxEventLog  = 64 << 20 // bytes of one log; later messages are not written
)

// eventLog writes the wire and the events of a session to a file, one JSON object a
// line: {"t_ms", "dir": ">" to the agent, "<" from it, "msg"} or {"t_ms", "event"}.
// A log that cannot be written is a warning, not a failure (SPEC §13.2). The zero
// value writes nothing.
type eventLog struct {
	mu      sync.Mutex
	file    *os.File
	out     *bufio.Writer
	redact  func(string) string
	log     *slog.Logger
	began   time.Time
	written int   // bytes
	stopped error // why the log ended early; nil while it is written
}

// eventLine is one line of the event log.
type eventLine struct {
	Millis  int64           `json:"t_ms"`
	Dir     string          `json:"dir,omitempty"`
	Msg     json.RawMessage `json:"msg,omitempty"`
	Omitted int             `json:"omitted_bytes,omitempty"` // bytes of a message that is too long to keep, or the output of a program of the host
	Event   *codex.Event    `json:"event,omitempty"`
}

// openEventLog opens the log at path and appends to what it holds. If path is empty
// or cannot be opened, the log writes nothing; close returns why.
func openEventLog(path string, redact func(string) string, log *slog.Logger) *eventLog {
	l := &eventLog{redact: redact, log: log, began: time.Now()}
	if path == "" {
		return l
	}
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		l.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	}
	if err != nil {
		l.stop(fmt.Errorf("no event log for this session: %w; check --logs", err))
		return l
	}
	l.out = bufio.NewWriter(l.file)
	return l
}

// wire writes one message. The reader and the writer of the session call it.
func (l *eventLog) wire(dir byte, line []byte) {
	if l.out == nil {
		return
	}
	e := eventLine{Dir: string(dir)}
	switch {
	case len(line) > maxEventLine || isProgramOutput(line):
		e.Omitted = len(line)
	case json.Valid(line):
		e.Msg = line
	default:
		e.Msg, _ = json.Marshal(string(line))
	}
	l.write(e)
}

// isProgramOutput reports whether a message is output of a program of the host. It can
// be a pack with all the agent's work, which no redaction can read.
func isProgramOutput(line []byte) bool {
	const head = 100 // bytes in which the method is
	return bytes.Contains(line[:min(len(line), head)], []byte(`"method":"command/exec/outputDelta"`))
}

// event writes one event, unless the wire already has it.
func (l *eventLog) event(event codex.Event) {
	if l.out == nil || event.Kind == codex.Notification || event.Kind == codex.OtherMessage {
		return
	}
	l.write(eventLine{Event: &event})
}

// write appends a line, unless the log has stopped.
func (l *eventLog) write(e eventLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped != nil {
		return
	}
	if l.written > maxEventLog {
		l.stop(fmt.Errorf("the event log ends early: it has reached its limit of %d bytes", maxEventLog))
		return
	}
	e.Millis = time.Since(l.began).Milliseconds()
	var line strings.Builder
	out := json.NewEncoder(&line)
	out.SetEscapeHTML(false) // people read it
	err := out.Encode(e)
	if err == nil {
		n := 0
		n, err = l.out.WriteString(l.redact(line.String()))
		l.written += n
	}
	if err != nil {
		l.stop(fmt.Errorf("the event log ends early: %w; check the disk of --logs", err))
	}
}

// stop ends the log for good and logs why. l.mu must be held, or the log not be in
// use yet.
func (l *eventLog) stop(err error) {
	l.stopped = err
	l.log.Warn(err.Error())
}

// close closes the file. It returns why the log is not complete, which is logged
// too.
func (l *eventLog) close() error {
	if l.out == nil {
		return l.stopped
	}
	if err := l.out.Flush(); err != nil && l.stopped == nil {
		l.stop(fmt.Errorf("the event log ends early: %w; check the disk of --logs", err))
	}
	l.file.Close()
	return l.stopped
}
