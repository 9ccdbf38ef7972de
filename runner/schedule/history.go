package schedule

import (
	"slices"
	"time"
)

// maxHistory is how many ticks people can look back on.
const maxHistory = 20

// TickRecord is a tick that is over. It is for people alone: no plan depends on it.
type TickRecord struct {
	Run      string // of the workflow, empty for none
	Attempt  int    // of that run, from 1; 0 for none
	Started  time.Time
	Ended    time.Time
	Stopped  string // what ended it early, empty when it came to its end by itself
	Sessions int    // that ended in it
	Done     int    // issues whose last session in it succeeded
	Parked   int    // issues that were parked in it
	Tokens   int64  // input and output
}

// AppendHistory adds a tick that is over, and forgets the oldest when there are too
// many. A tick that went on after all takes its own place again; one that did no
// more meanwhile stays as it was, so that there is nothing new to save.
func (s *State) AppendHistory(p TickRecord) {
	if last := len(s.History) - 1; last >= 0 && s.History[last].Started.Equal(p.Started) && s.History[last].Run == p.Run {
		old := s.History[last]
		if old.Started, old.Ended = p.Started, p.Ended; old == p {
			return
		}
		s.History = s.History[:last]
	}
	s.History = append(slices.Clone(s.History), p)
	if over := len(s.History) - maxHistory; over > 0 {
		s.History = s.History[over:]
	}
}
