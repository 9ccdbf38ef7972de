package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/transcript"
	"github.com/symphony-runner/symphony/tracker/untrusted"
)

const (
	// maxLiveLines and maxLiveBytes bound what a liveLog shows of a session, besides its
	// beginning and its end.
	maxLiveLines, maxLiveBytes = 1000, 128 << 10
	// quietTime is how long a liveLog shows nothing of a session before it says what the
	// agent is doing.
	quietTime = 15 * time.Second
	// liveEndTime bounds how long the end of a run waits until the log is read.
	liveEndTime = 2 * time.Second
	// maxLivePrefix bounds the identifier before a line, maxLiveText any other text of an
	// issue or an outcome, in runes.
	maxLivePrefix, maxLiveText = 40, 500
)

// liveLog shows in a log that people read what sessions do while they do it. Each line
// begins with the issue. It reads the event logs as "symphony log -f" does, in goroutines
// of its own, so no session waits for somebody who reads the log slowly.
type liveLog struct {
	*tickCommand
	console  *console
	backlog  *backlog // of the console, which takes the lines of the run at once and those of sessions when it has room
	workflow string   // path of WORKFLOW.md
	texts    bool     // also what agents read and think

	ctx    context.Context // done after the run
	cancel context.CancelFunc
	shows  sync.WaitGroup // the sessions that are being shown
}

// showSessions makes r show in the log what its sessions do, or inside Actions each session
// after its end where the log is not text for people. The caller has to call end after the
// run.
func (t *tickCommand) showSessions(r *runner.Runner, console *console, workflow string) (end func()) {
	switch {
	case t.part.live && t.logFormat == "text" && !console.isLive():
		l := t.newLiveLog(console, workflow)
		r.OnSession = l.begin
		return l.close
	case t.actions.InActions():
		r.OnSession = func(runner.SessionStart) func(runner.SessionLog) { return t.printSession }
	}
	return func() {}
}

// newLiveLog returns the log of the sessions of a run. Everybody can read the log of a job
// in a public repository, so inside Actions the step says whether it shows texts.
func (t *tickCommand) newLiveLog(console *console, workflow string) *liveLog {
	texts, _ := t.getenv("SYMPHONY_LOG_TEXTS")
	l := &liveLog{tickCommand: t, console: console, backlog: console.queue(), workflow: workflow, texts: texts == "true" || !t.actions.InActions()}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// begin starts to show a session. When onEnd is called, the rest of the session is shown, and
// how it ended.
func (l *liveLog) begin(start runner.SessionStart) (onEnd func(runner.SessionLog)) {
	over, end := context.WithCancel(l.ctx)
	s := &liveSession{liveLog: l, start: start, over: over, reader: transcript.Reader{Redact: l.redactor.String}}
	s.prefix = s.reader.OneLine(start.Claim.Identifier, maxLivePrefix) + " | "
	l.shows.Go(s.showAll)
	return func(log runner.SessionLog) {
		s.ended = &log
		end()
	}
}

// close waits until all that was written is shown, but at most liveEndTime if nobody reads it.
func (l *liveLog) close() {
	l.cancel() // of sessions whose end the run did not see
	defer time.AfterFunc(liveEndTime, l.backlog.giveUp).Stop()
	l.shows.Wait()
	l.console.fail(l.backlog.settle())
}

// restOf returns the command or the file that shows all that a session did.
func (l *liveLog) restOf(s runner.SessionStart) string {
	if !l.actions.InActions() {
		return l.logCommand(l.workflow, s.Claim.Identifier)
	}
	if log := l.logInArtifact(s.File); log.Artifact != "" {
		return log.File + " of the artifact " + log.Artifact
	}
	return "its event log, which this job does not upload"
}

// liveSession is one session in a liveLog.
type liveSession struct {
	*liveLog
	start  runner.SessionStart
	prefix string // of each line

	over  context.Context    // done after the session
	ended *runner.SessionLog // set before over is done; nil if the run did not see its end

	reader       transcript.Reader
	lines, bytes int       // shown of the event log
	lastShown    time.Time // when the latest line was shown
	doingShown   bool      // the latest line says what the agent is doing
	err          error     // of the log
}

// showAll shows the session from its beginning to its end.
func (s *liveSession) showAll() {
	s.print(s.beginning())
	s.follow()
	<-s.over.Done()
	if s.ended != nil {
		s.print(s.ending()...)
	}
}

// beginning returns the line with which the session begins.
func (s *liveSession) beginning() string {
	claim, place := s.start.Claim, "branch "+s.start.Branch
	if s.start.Branch == "" {
		place = "workspace " + s.start.Workspace
	}
	if !s.texts {
		place += ", shown without outputs"
	}
	return s.clean(fmt.Sprintf("session %d begins: %s (attempt %d, %s)", claim.Sessions, claim.Title, claim.Attempt+1, place))
}

// ending returns the lines that say how the session ended.
func (s *liveSession) ending() []string {
	lines := []string{"session ended: " + sessionResult(*s.ended)}
	for _, detail := range s.sessionDetails(*s.ended) {
		lines = append(lines, "  "+s.clean(detail))
	}
	return lines
}

// clean returns a text that does not come from the event log as one line without secrets.
func (s *liveSession) clean(text string) string { return s.reader.OneLine(text, maxLiveText) }

// follow shows what the event log has and what is added to it, until the session is over,
// too much was shown, or the log cannot be read or written.
func (s *liveSession) follow() {
	log, err := s.open()
	if err != nil {
		return // the session warns of a log that could not be made
	}
	defer log.Close()
	chunk := make([]byte, 64<<10)
	for {
		over := s.over.Err() != nil // asked before the read, which then has all that the session wrote
		n, err := log.Read(chunk)
		for _, e := range s.reader.Feed(chunk[:n]) {
			if !s.show(transcript.LogLines(e, s.texts)) {
				return
			}
		}
		switch {
		case n > 0 && err == nil:
		case !errors.Is(err, io.EOF), over, !s.showDoing():
			return
		default:
			s.wait()
		}
	}
}

// open opens the event log. It waits until the session has made the file.
func (s *liveSession) open() (*os.File, error) {
	issue, name := filepath.Split(s.start.File)
	folder, key := filepath.Split(filepath.Clean(issue))
	for {
		over := s.over.Err() != nil
		log, err := transcript.Open(folder, filepath.Join(key, name))
		if !errors.Is(err, fs.ErrNotExist) || over {
			return log, err
		}
		s.wait()
	}
}

// wait waits for more of the event log.
func (s *liveSession) wait() {
	select {
	case <-s.over.Done():
	case <-time.After(followEvery):
	}
}

// showDoing shows once what the agent is doing, if nothing was shown for a while. It reports
// whether more can be shown.
func (s *liveSession) showDoing() bool {
	if s.doingShown || time.Since(s.lastShown) < quietTime {
		return true
	}
	doing := s.reader.Doing()
	if doing == "" {
		return true
	}
	more := s.show([]string{untrusted.Truncate("… "+doing, maxLiveText)})
	s.doingShown = true
	return more
}

// show shows lines of the event log, and reports whether more can be shown.
func (s *liveSession) show(lines []string) bool {
	if len(lines) == 0 {
		return true
	}
	s.lines += len(lines)
	for _, line := range lines {
		s.bytes += len(s.prefix) + len(line) + 1
	}
	if s.lines > maxLiveLines || s.bytes > maxLiveBytes {
		s.print(s.clean("[… too much to show here: the rest is in " + s.restOf(s.start) + " …]"))
		return false
	}
	s.print(lines...)
	return s.err == nil
}

// print writes lines in one call, unless an earlier call failed.
func (s *liveSession) print(lines ...string) {
	s.backlog.awaitRoom()
	if s.err == nil {
		_, s.err = io.WriteString(s.console, s.prefix+strings.Join(lines, "\n"+s.prefix)+"\n")
	}
	s.lastShown, s.doingShown = time.Now(), false
}
