package schedule

import (
	"slices"
	"time"
)

// keepPast is how many ticks people can look back on.
const keepPast = 20

// Past is a tick that is over. It is for people alone: no plan depends on it.
type Past struct {
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

// Remember adds a tick that is over, and forgets the oldest when there are too
// many. A tick that went on after all takes its own place again; one that did no
// more meanwhile stays as it was, so that there is nothing new to save.
func (s *State) Remember(p Past) {
	if last := len(s.Past) - 1; last >= 0 && s.Past[last].Started.Equal(p.Started) && s.Past[last].Run == p.Run {
		old := s.Past[last]
		if old.Started, old.Ended = p.Started, p.Ended; old == p {
			return
		}
		s.Past = s.Past[:last]
	}
	s.Past = append(slices.Clone(s.Past), p)
	if over := len(s.Past) - keepPast; over > 0 {
		s.Past = s.Past[over:]
	}
}
