package worker

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// The bounds of the messages of a host. No session exceeds them, except on a host that somebody has
// taken over.
const (
	maxLine       = 1000     // runes of a text of one line
	maxLines      = 20 << 10 // bytes of a text of several lines
	maxWarnings   = 100      // of an update, and of the outcome
	maxLogged     = 16 << 20 // bytes of the log
	recordBytes   = 100      // bytes of a record, besides its texts
	maxRateLimits = 16 << 10 // bytes
	maxTurns      = 1 << 20
)

// line returns a text as one line, without the secrets of this machine.
func (s *remoteSession) line(t string) string { return text.OneLine(s.redact(t), maxLine) }

func (s *remoteSession) lines(t string) string {
	return text.Cut(text.Lines(s.redact(t)), maxLines, "")
}

func (s *remoteSession) warnings(list []string) []string {
	list = list[:min(len(list), maxWarnings)]
	for i, warning := range list {
		list[i] = s.line(warning)
	}
	return list
}

// screenUpdate brings an update within its bounds. Its time is of this machine: the clock of the host may
// be wrong.
func (s *remoteSession) screenUpdate(u attempt.Update) attempt.Update {
	u.At, u.Warnings = time.Now(), s.warnings(u.Warnings)
	for _, field := range []*string{&u.Summary, &u.Doing, &u.Event, &u.Thread, &u.Session, (*string)(&u.Status)} {
		*field = s.line(*field)
	}
	u.Turns, u.Usage = min(max(u.Turns, 0), maxTurns), schedule.Usage{}.AtLeast(u.Usage)
	if len(u.RateLimits) > maxRateLimits {
		u.RateLimits = nil
	}
	return u
}

// screenOutcome brings an outcome within its bounds. What became of the issue and of its work is known
// here: a host cannot speak of another issue, or of work that was not published.
func (s *remoteSession) screenOutcome(o schedule.Outcome) schedule.Outcome {
	for _, field := range []*string{&o.Why, &o.LeftOut, &o.Blocked, &o.Fault, &o.Thread, (*string)(&o.Status)} {
		*field = s.line(*field)
	}
	for _, field := range []*string{&o.Question, &o.Refused, &o.Said} {
		*field = s.lines(*field)
	}
	o.Warnings, o.Turns, o.Usage = s.warnings(o.Warnings), min(max(o.Turns, 0), maxTurns), schedule.Usage{}.AtLeast(o.Usage)
	issue, gone, delivered := s.desk.result()
	if o.Issue != nil {
		o.Issue = issue
	}
	o.Gone, o.Delivered = o.Gone && gone, o.Delivered && delivered
	if !o.Class.Known() || !o.Cause.Known() {
		o.Class, o.Cause, o.Why = schedule.HostLost, "", fmt.Sprintf("worker host %s: its outcome is of no kind that this version knows: let the host have the same program, or leave it out of worker.ssh_hosts", s.job.Host)
	}
	return o
}

// log writes a record of the host to the log, until that has enough of it.
func (s *remoteSession) log(r *record) {
	if s.logged > maxLogged {
		return
	}
	s.logged += len(r.Message) + recordBytes
	for i, value := range r.Attrs {
		switch value := value.(type) {
		case string:
			s.logged += len(value)
		case float64, bool:
		default:
			r.Attrs[i] = "" // no log of this program has it
		}
	}
	if s.logged > maxLogged {
		s.job.Log.Warn("the rest of the host's log is left out", "worker_host", s.job.Host, "limit", maxLogged)
		return
	}
	r.Level = min(max(r.Level, slog.LevelDebug), slog.LevelError)
	r.writeTo(s.job.Log)
}
