package attempt

import (
	"log/slog"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

const (
	// maxWhy bounds the reason of an outcome, in runes.
	maxWhy = 500
	// maxReasons bounds the reasons of a refusal, in bytes.
	maxReasons = 4000
)

// journal keeps the events of an attempt, for its log, its event log and its outcome. All parts
// of the attempt share it.
type journal struct {
	log      *slog.Logger
	eventLog *EventLog // event log of the session; nil for none
	redact   func(string) string

	pid         int      // id of the agent's process; 0 before it was started
	lastSession string   // the session of the latest turn that has ended
	warnings    []string // failures that do not change the outcome
}

// logger returns the log with the session of the attempt once there is one (SPEC
// §13.1). Events of an open session carry their own session: see onEvent.
func (j *journal) logger() *slog.Logger {
	log := j.log
	if j.pid != 0 {
		log = log.With("session_id", j.lastSession, "pid", j.pid)
	}
	return log
}

// warn logs a failure that does not change the outcome, and reports it with it.
func (j *journal) warn(what string, err error) {
	j.logger().Warn(what, "error", err)
	j.warnings = append(j.warnings, j.brief(what+": "+err.Error()))
}

// logHook returns err. If it is the failure of a hook, it writes that into the event log
// first.
func (j *journal) logHook(began time.Time, err error) error {
	j.eventLog.Hook(began, err)
	return err
}

// brief returns text on one line of at most maxWhy runes, for a log line, a table
// and the state. Secrets are removed before it is cut: half of one would not be
// recognized.
func (j *journal) brief(s string) string {
	return text.OneLine(j.redact(s), maxWhy)
}

// reasons returns a text of several lines, such as the reasons of a refusal, of at most
// maxReasons bytes and without secrets.
func (j *journal) reasons(s string) string {
	return strings.TrimSpace(text.Cut(text.Lines(j.redact(s)), maxReasons, ""))
}
