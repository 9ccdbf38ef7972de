package runner

import (
	"cmp"
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
	o := attempt.LogOptions{
		Folder: l.Logs, Whole: true, Redact: l.Redact, Log: w.log,
		Name: transcript.Name(workspace.Key(issue.Identifier), w.started, claim.Sessions),
		Session: transcript.Session{
			Began: w.started.UTC(), IssueID: string(issue.ID), Identifier: issue.Identifier, Title: issue.Title, URL: issue.URL, State: issue.State,
			Attempt: claim.Attempt, Number: claim.Sessions, Run: l.Self.Run,
		},
	}
	if o.Folder == "" {
		o.Folder, o.Whole, o.Foreign = l.Transcripts, false, true
	}
	return o
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
func (l *loop) writePage(w *worker, log *attempt.EventLog) {
	if log == nil || l.Logs == "" || !l.Pages {
		return
	}
	if err := transcript.WritePageOf(l.Logs, log.Name, l.Redact); err != nil {
		w.log.Warn("the event log has no page", "error", err)
	}
}

// pruneEvery is the least time between two searches for old event logs while sessions
// end: each search lists all of them.
const pruneEvery = time.Minute

// pruneLogs removes the oldest event logs where there are too many, unless it has just
// done so. A failure is no reason to stop anything.
func (l *loop) pruneLogs() {
	l.pruning.Lock()
	defer l.pruning.Unlock()
	if l.Transcripts == "" || l.Logs != "" || time.Since(l.pruned) < pruneEvery {
		return
	}
	l.pruned = time.Now()
	if err := transcript.Prune(l.Transcripts, keptLogs, time.Now()); err != nil {
		l.Log.Warn("old event logs were not removed", "error", err)
	}
}
