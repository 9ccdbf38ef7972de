package attempt

import (
	"bufio"
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
	maxEventLog  = 64 << 20 // what comes after that is not kept
)

// eventLog keeps what a session said on the wire, and what was made of it: one
// JSON object a line, {"t_ms", "dir": ">" to the agent, "<" from it, "msg"} or
// {"t_ms", "event"}. A log that cannot be written is a warning, not a failure
// (SPEC §13.2). The zero value keeps nothing.
type eventLog struct {
	mu      sync.Mutex
	file    *os.File
	out     *bufio.Writer
	redact  func(string) string
	log     *slog.Logger
	began   time.Time
	written int
	stopped error // why it has stopped early; nil while it is written
}

type eventLine struct {
	Millis int64           `json:"t_ms"`
	Dir    string          `json:"dir,omitempty"`
	Msg    json.RawMessage `json:"msg,omitempty"`
	Cut    int             `json:"cut,omitempty"` // bytes of a message that was too long to keep
	Event  *codex.Event    `json:"event,omitempty"`
}

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

// wire keeps one message. It is called by the session's reader and its writer.
func (l *eventLog) wire(dir byte, line []byte) {
	if l.out == nil {
		return
	}
	e := eventLine{Dir: string(dir)}
	switch {
	case len(line) > maxEventLine:
		e.Cut = len(line)
	case json.Valid(line):
		e.Msg = line
	default:
		e.Msg, _ = json.Marshal(string(line))
	}
	l.write(e)
}

// event keeps one event, unless the wire says the same.
func (l *eventLog) event(event codex.Event) {
	if l.out == nil || event.Kind == codex.Notification || event.Kind == codex.OtherMessage {
		return
	}
	l.write(eventLine{Event: &event})
}

func (l *eventLog) write(e eventLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped != nil {
		return
	}
	if l.written > maxEventLog {
		l.stop(fmt.Errorf("the event log ends early: it has reached its bound of %d bytes", maxEventLog))
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

// stop stops the log for good.
func (l *eventLog) stop(err error) {
	l.stopped = err
	l.log.Warn(err.Error())
}

// close closes the file. The error, which is logged, says why the log is not
// complete.
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
