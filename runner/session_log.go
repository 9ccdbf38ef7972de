package runner

import (
	"path/filepath"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
	"github.com/symphony-runner/symphony/workspace"
)

// OnSession is called before each session, and the function that it returns is called after
// the session, both by the goroutine of the run.
type OnSession func(SessionStart) (onEnd func(SessionLog))

// SessionStart describes a session that begins.
type SessionStart struct {
	Claim     schedule.Claim
	Branch    string           // branch of the work; empty where the repository is left to the hooks
	Workspace string           // path of its folder
	File      string           // path of the event log, which is made a moment later; empty for none
	Live      *transcript.Live // lines of that log; nil for none
}

// startSession calls OnSession for a session that begins.
func (l *loop) startSession(w *worker, claim schedule.Claim, job attempt.Job) {
	if l.OnSession == nil {
		return
	}
	s := SessionStart{Claim: claim, Workspace: filepath.Join(l.root(), workspace.Key(claim.Identifier)), File: w.eventLog, Live: w.live}
	if job.Repository != nil {
		s.Branch = job.Repository.Checkout.Branch.String()
	}
	w.onEnd = l.OnSession(s)
}

// maxLines bounds how many lines of a session are kept.
const maxLines = 200

// SessionLog holds the messages of one session. It is passed on when the session
// has ended, so that a log can keep the lines of an issue together.
type SessionLog struct {
	Claim   schedule.Claim // claim during the session
	Outcome schedule.Outcome
	Next    schedule.Next // next step of the claim
	Took    time.Duration
	Lines   []string // lines in their order; only the last ones if there were too many
	Omitted int      // number of lines dropped before them
	File    string   // path of the event log, which has all; empty for none

	Delivers bool            // the workflow publishes the agents' work; see [report.Tick]
	Prices   schedule.Prices // prices of its tokens; none for a workflow without them
}

// append adds the summary of an update. It is called by one goroutine at a time.
// Consecutive duplicates are dropped: many items report both their begin and
// their end.
func (s *SessionLog) append(u attempt.Update) {
	if u.Summary == "" || u.Usage.Total() > 0 {
		return
	}
	if n := len(s.Lines); n > 0 && s.Lines[n-1] == u.Summary {
		return
	}
	if len(s.Lines) == maxLines {
		s.Lines = append(s.Lines[:0], s.Lines[1:]...)
		s.Omitted++
	}
	s.Lines = append(s.Lines, u.Summary)
}

// logSession passes the log of a session on.
func (l *loop) logSession(m exited, claim schedule.Claim, next schedule.Next, now time.Time) {
	if m.onEnd == nil {
		return
	}
	session := m.session
	session.Claim, session.Outcome, session.Next, session.Took = claim, m.outcome, next, now.Sub(m.started)
	session.Delivers, session.File, session.Prices = l.delivers(), m.eventLog, l.wf.Settings.Policy.Budget.Prices
	m.onEnd(session)
}
