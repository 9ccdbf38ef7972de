package runner

import (
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// maxStory is how many lines of a session are told.
const maxStory = 200

// SessionLog is what a session said, told when it is over, for a log that keeps the
// words of an issue together.
type SessionLog struct {
	Claim   schedule.Claim // as it was while the session ran
	Outcome schedule.Outcome
	Next    schedule.Next // what became of the claim
	Took    time.Duration
	Lines   []string // in the order they were said; the last ones when there were too many
	Omitted int      // lines before them
}

// append takes in a sign of life. It is called by one goroutine at a time. What is
// said twice in a row, as things are when they begin and end, is told once.
func (s *SessionLog) append(u attempt.Update) {
	if u.Summary == "" || u.Usage.Total() > 0 {
		return
	}
	if n := len(s.Lines); n > 0 && s.Lines[n-1] == u.Summary {
		return
	}
	if len(s.Lines) == maxStory {
		s.Lines = append(s.Lines[:0], s.Lines[1:]...)
		s.Omitted++
	}
	s.Lines = append(s.Lines, u.Summary)
}

// logSession hands the story of a session to whoever keeps the log.
func (l *loop) logSession(m exited, claim schedule.Claim, next schedule.Next, now time.Time) {
	if l.OnSessionEnd == nil {
		return
	}
	story := m.story
	story.Claim, story.Outcome, story.Next, story.Took = claim, m.outcome, next, now.Sub(m.started)
	l.OnSessionEnd(story)
}
