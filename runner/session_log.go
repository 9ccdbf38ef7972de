package runner

import (
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
)

// SessionStart describes a session that begins.
type SessionStart struct {
	Claim     schedule.Claim
	Branch    string           // branch of the work; empty where the repository is left to the hooks
	Workspace string           // path of its folder
	File      string           // path of the event log, which is made a moment later; empty for none
	Live      *transcript.Live // lines of that log; nil for none
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
