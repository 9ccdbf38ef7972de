package runlog

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/transcript"
)

const (
	// maxLines and maxBytes bound the part of a session that Sessions shows, besides its
	// beginning and its end.
	maxLines, maxBytes = 1000, 128 << 10
	// quietTime bounds how long Sessions shows nothing of a session before it shows the agent's
	// present work.
	quietTime = 15 * time.Second
	// endTime bounds how long the end of a run waits until the log is read.
	endTime = 2 * time.Second
	// maxPrefix bounds the identifier before a line, maxText any other text of an
	// issue or an outcome, in runes.
	maxPrefix, maxText = 40, 500
)

// Options selects the contents of a log of sessions.
type Options struct {
	Texts  bool                // show what agents read and think
	Redact func(string) string // removes secrets
}

// Sessions shows the work of sessions in a log that people read, while they do it. Each line
// begins with the issue. It reads a [transcript.Live] of each in a goroutine of its own, so no
// session waits for somebody who reads the log slowly.
type Sessions struct {
	Options
	backlog *backlog // takes the lines of the run at once, and the lines of sessions when it has room

	ctx    context.Context // done after the run
	cancel context.CancelFunc
	shows  sync.WaitGroup // the sessions that are being shown
}

// Session is a session that begins.
type Session struct {
	Identifier, Title string           // issue of the session
	Number, Attempt   int              // numbers from 1
	Branch            string           // branch of the work; empty for none
	Workspace         string           // path of its folder
	Host              string           // worker host; empty for this machine
	Live              *transcript.Live // lines of its event log; nil for nothing
	Rest              string           // place of the whole log, for people
}

// NewSessions returns a log of sessions in front of w. All other output for w has to be written
// to it, and waits for nobody. The caller has to close it.
func NewSessions(w io.Writer, o Options) *Sessions {
	l := &Sessions{Options: o, backlog: newBacklog(w)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Write writes other lines of the log, without waiting for its reader.
func (l *Sessions) Write(lines []byte) (int, error) { return l.backlog.Write(lines) }

// Begin starts to show a session. When onEnd is called, the rest of the session is shown, and
// how it ended: in one line, with lines that explain it.
func (l *Sessions) Begin(start Session) (onEnd func(result string, details []string)) {
	over, end := context.WithCancel(l.ctx)
	s := &session{Sessions: l, start: start, over: over, reader: transcript.Reader{Redact: l.Redact}}
	s.prefix = s.reader.OneLine(start.Identifier, maxPrefix) + " | "
	l.shows.Go(s.showAll)
	return func(result string, details []string) {
		s.result, s.details = result, details
		end()
	}
}

// Close waits until all that was written is shown, but at most endTime if nobody reads it. It
// returns the error of [backlog.settle]. Later output passes unchanged.
func (l *Sessions) Close() error {
	l.cancel() // ends sessions whose end the run did not see
	defer time.AfterFunc(endTime, l.backlog.giveUp).Stop()
	l.shows.Wait()
	return l.backlog.settle()
}

// session is one session in a log.
type session struct {
	*Sessions
	start  Session
	prefix string // prefix of each line

	over    context.Context // done after the session
	result  string          // result of the session, set before over is done; empty if the run did not see its end
	details []string

	reader       transcript.Reader // makes lines of other texts
	lines, bytes int               // lines and bytes of the event log shown so far
	lastShown    time.Time         // time of the latest line
	doingShown   bool              // the latest line shows the agent's work
	err          error             // first error of the log
}

func (s *session) showAll() {
	s.print(s.beginning())
	if s.start.Live != nil {
		s.follow()
	}
	<-s.over.Done()
	if s.result != "" {
		s.print(s.ending()...)
	}
}

func (s *session) beginning() string {
	place := "branch " + s.start.Branch
	if s.start.Branch == "" {
		place = "workspace " + s.start.Workspace
	}
	if s.start.Host != "" {
		place += " on " + s.start.Host
	}
	if !s.Texts {
		place += ", shown without outputs"
	}
	return s.clean(fmt.Sprintf("session %d begins: %s (attempt %d, %s)", s.start.Number, s.start.Title, s.start.Attempt, place))
}

func (s *session) ending() []string {
	lines := []string{"session ended: " + s.clean(s.result)}
	for _, detail := range s.details {
		lines = append(lines, "  "+s.clean(detail))
	}
	return lines
}

// clean returns a text that does not come from the event log as one line without secrets.
func (s *session) clean(text string) string { return s.reader.OneLine(text, maxText) }

// follow shows the work of the session, until it is over, too much was shown, or the log cannot
// be written.
func (s *session) follow() {
	for seen := 0; ; {
		over := s.over.Err() != nil // asked before the read, which then has all that the session wrote
		entries, lost, changed := s.start.Live.Since(seen)
		seen += lost + len(entries)
		if lost > 0 && !s.show([]string{fmt.Sprintf("[… %d parts of the session are lost, because nobody read the log in time …]", lost)}) {
			return
		}
		for _, e := range entries {
			if !s.show(transcript.LogLines(e, s.Texts)) {
				return
			}
		}
		if over || !s.showDoing() {
			return
		}
		var quiet <-chan time.Time
		if wait := quietTime - time.Since(s.lastShown); wait > 0 {
			quiet = time.After(wait)
		}
		select {
		case <-changed:
		case <-quiet:
		case <-s.over.Done():
		}
	}
}

// showDoing shows the agent's work once, if nothing was shown for a while. It reports whether
// more can be shown.
func (s *session) showDoing() bool {
	if s.doingShown || time.Since(s.lastShown) < quietTime {
		return true
	}
	doing := s.start.Live.Doing()
	if doing == "" {
		return true
	}
	more := s.show([]string{text.Truncate("… "+doing, maxText)})
	s.doingShown = true
	return more
}

// show shows lines of the event log, and reports whether more can be shown.
func (s *session) show(lines []string) bool {
	if len(lines) == 0 {
		return true
	}
	s.lines += len(lines)
	for _, line := range lines {
		s.bytes += len(s.prefix) + len(line) + 1
	}
	if s.lines > maxLines || s.bytes > maxBytes {
		s.print(s.clean("[… too much to show here: the rest is in " + s.start.Rest + " …]"))
		return false
	}
	s.print(lines...)
	return s.err == nil
}

// print writes lines in one call, unless an earlier call failed.
func (s *session) print(lines ...string) {
	s.backlog.awaitRoom()
	if s.err == nil {
		_, s.err = io.WriteString(s.backlog, s.prefix+strings.Join(lines, "\n"+s.prefix)+"\n")
	}
	s.lastShown, s.doingShown = time.Now(), false
}
