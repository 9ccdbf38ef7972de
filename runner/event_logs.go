package runner

import (
	"cmp"
	"log/slog"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/transcript"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// keptLogs bounds the event logs in Runner.Transcripts.
var keptLogs = transcript.Limits{Sessions: 20, Bytes: 256 << 20, Age: 30 * 24 * time.Hour}

// eventLogs writes the event logs of sessions and removals, and removes old ones.
type eventLogs struct {
	folder      string // Logs of [Runner]
	transcripts string // Transcripts of [Runner]
	pages       bool
	run         string // run that the logs belong to
	redact      func(string) string
	log         *slog.Logger

	pruning sync.Mutex // held while old logs are removed: each session that ends may do so
	pruned  time.Time  // time of the last removal of old logs
}

// sessionOf returns the first line of the event log of an issue.
func (e *eventLogs) sessionOf(issue tracker.Issue, began time.Time) transcript.Session {
	return transcript.Session{
		Began: began.UTC(), IssueID: string(issue.ID), Identifier: issue.Identifier, Title: issue.Title, URL: issue.URL, State: issue.State, Run: e.run,
	}
}

// options returns the place and the form of the event log that begins with s; without a
// folder if there is none.
func (e *eventLogs) options(s transcript.Session, log *slog.Logger) attempt.LogOptions {
	o := attempt.LogOptions{
		Folder: e.folder, Whole: true, Redact: e.redact, Log: log,
		Name: transcript.Name(workspace.Key(s.Identifier), s.Began, s.Number), Session: s,
	}
	if o.Folder == "" {
		o.Folder, o.Whole, o.Foreign = e.transcripts, false, true
	}
	return o
}

// writeRemoval writes the failure of before_remove into an event log of its own: the session
// may belong to another run, whose logs are not here. err is the reason why the workspace is
// still there; nil if it is gone.
func (e *eventLogs) writeRemoval(s transcript.Session, hook, err error) {
	o := e.options(s, e.log.With("issue_id", s.IssueID, "issue_identifier", s.Identifier))
	if hook == nil || o.Folder == "" {
		return
	}
	log := attempt.OpenEventLog(o)
	log.Hook(s.Began, hook)
	log.EndRemoval(err)
	e.writePage(o.Log, log)
}

// readable returns the folder in which displays find the event logs; empty for none.
// Transcripts may come with a repository of somebody else.
func (e *eventLogs) readable() string {
	if e.folder == "" && e.transcripts != "" && transcript.CheckFolder(e.transcripts) != nil {
		return "" // the sessions warn of it
	}
	return cmp.Or(e.folder, e.transcripts)
}

// writePage writes the page of an event log that is kept for people who do not have this
// program.
func (e *eventLogs) writePage(logger *slog.Logger, log *attempt.EventLog) {
	if log == nil || e.folder == "" || !e.pages {
		return
	}
	if _, err := transcript.WritePageOf(e.folder, log.Name, e.redact); err != nil {
		logger.Warn("the event log has no page", "error", err)
	}
}

// pruneEvery is the least time between two searches for old event logs while sessions
// end: each search lists all of them.
const pruneEvery = time.Minute

func (e *eventLogs) pruneLast() {
	e.pruned = time.Time{}
	e.prune()
}

// prune removes the oldest event logs where there are too many, unless it has just
// done so. A failure is not a reason to stop anything.
func (e *eventLogs) prune() {
	e.pruning.Lock()
	defer e.pruning.Unlock()
	if e.transcripts == "" || e.folder != "" || time.Since(e.pruned) < pruneEvery {
		return
	}
	e.pruned = time.Now()
	if err := transcript.Prune(e.transcripts, keptLogs, time.Now()); err != nil {
		e.log.Warn("old event logs were not removed", "error", err)
	}
}
