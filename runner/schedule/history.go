package schedule

import (
	"slices"
	"time"
)

// maxHistory bounds how many past ticks the state keeps.
const maxHistory = 20

// TickRecord describes a tick that has ended. It is for people only: no plan
// depends on it.
type TickRecord struct {
	Run      string // id of the workflow run; empty outside Actions
	Attempt  int    // of that run, from 1; 0 outside Actions
	Started  time.Time
	Ended    time.Time
	Stopped  string // why it ended early; empty when it did not
	Sessions int    // sessions that ended in it
	Done     int    // issues whose last session in it succeeded
	Parked   int    // issues that were parked in it
	Tokens   int64  // input and output
}

// AppendHistory adds a tick that has ended, and drops the oldest when there are
// too many. If the newest record is of the same tick it is replaced, unless
// nothing but its end time would change: then it stays, so that there is nothing
// new to save.
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
