package runner

import (
	"cmp"
	"log/slog"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// keptLogs bounds the event logs in Runner.Transcripts.
var keptLogs = transcript.Limits{Sessions: 20, Bytes: 256 << 20, Age: 30 * 24 * time.Hour}

// logOptions returns where and how the event log of a session is written; without a
// folder if there is none.
func (l *loop) logOptions(w *worker, issue tracker.Issue, claim schedule.Claim) attempt.LogOptions {
	s := l.sessionOf(issue, w.started)
	s.Attempt, s.Number = claim.Attempt, claim.Sessions
	return l.logOf(s, w.log)
}

// sessionOf returns the first line of the event log of an issue.
func (l *loop) sessionOf(issue tracker.Issue, began time.Time) transcript.Session {
	return transcript.Session{
		Began: began.UTC(), IssueID: string(issue.ID), Identifier: issue.Identifier, Title: issue.Title, URL: issue.URL, State: issue.State, Run: l.Self.Run,
	}
}

// logOf returns where and how the event log that begins with s is written.
func (l *loop) logOf(s transcript.Session, log *slog.Logger) attempt.LogOptions {
	o := attempt.LogOptions{
		Folder: l.Logs, Whole: true, Redact: l.Redact, Log: log,
		Name: transcript.Name(workspace.Key(s.Identifier), s.Began, s.Number), Session: s,
	}
	if o.Folder == "" {
		o.Folder, o.Whole, o.Foreign = l.Transcripts, false, true
	}
	return o
}

// logRemoval writes the failure of before_remove into an event log of its own: the session
// may be that of another run, whose logs are not here. err says why the workspace is still
// there; nil if it is gone.
func (l *loop) logRemoval(s transcript.Session, hook, err error) {
	o := l.logOf(s, l.Log.With("issue_id", s.IssueID, "issue_identifier", s.Identifier))
	if hook == nil || o.Folder == "" {
		return
	}
	log := attempt.OpenEventLog(o)
	log.Hook(s.Began, hook)
	log.EndRemoval(err)
	l.writePage(o.Log, log)
}

// readableLogs returns the folder in which displays find the event logs; empty for none.
// Transcripts may come with a repository of somebody else.
func (l *loop) readableLogs() string {
	if l.Logs == "" && l.Transcripts != "" && transcript.CheckFolder(l.Transcripts) != nil {
		return "" // the sessions warn of it
	}
	return cmp.Or(l.Logs, l.Transcripts)
}

// writePage writes the page of an event log that is kept for people who do not have this
// program.
func (l *loop) writePage(logger *slog.Logger, log *attempt.EventLog) {
	if log == nil || l.Logs == "" || !l.Pages {
		return
	}
	if _, err := transcript.WritePageOf(l.Logs, log.Name, l.Redact); err != nil {
		logger.Warn("the event log has no page", "error", err)
	}
}

// pruneEvery is the least time between two searches for old event logs while sessions
// end: each search lists all of them.
const pruneEvery = time.Minute

// pruner holds the time at which old event logs were removed last. Each session that ends may
// remove them.
type pruner struct {
	sync.Mutex // held while they are removed
	last       time.Time
}

// pruneLogs removes the oldest event logs where there are too many, unless it has just
// done so. A failure is not a reason to stop anything.
func (l *loop) pruneLogs() {
	l.pruner.Lock()
	defer l.pruner.Unlock()
	if l.Transcripts == "" || l.Logs != "" || time.Since(l.pruner.last) < pruneEvery {
		return
	}
	l.pruner.last = time.Now()
	if err := transcript.Prune(l.Transcripts, keptLogs, time.Now()); err != nil {
		l.Log.Warn("old event logs were not removed", "error", err)
	}
}
