package runner

import (
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
		Folder: l.Logs, Pieces: true, Redact: l.Redact, Log: w.log,
		Name: transcript.Name(workspace.Key(issue.Identifier), w.started, claim.Sessions),
		Session: transcript.Session{
			Began: w.started.UTC(), IssueID: string(issue.ID), Identifier: issue.Identifier, Title: issue.Title, URL: issue.URL, State: issue.State,
			Attempt: claim.Attempt, Number: claim.Sessions, Run: l.Self.Run,
		},
	}
	if o.Folder == "" {
		o.Folder, o.Pieces = l.Transcripts, false
	}
	return o
}

// pruneLogs removes the oldest event logs where there are too many. A failure is no
// reason to stop anything.
func (l *loop) pruneLogs() {
	if l.Transcripts == "" || l.Logs != "" {
		return
	}
	l.pruning.Lock()
	defer l.pruning.Unlock()
	if err := transcript.Prune(l.Transcripts, keptLogs, time.Now()); err != nil {
		l.Log.Warn("old event logs were not removed", "error", err)
	}
}
