package schedule

import (
	"encoding/json"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// TurnSign tells whether an update begins or ends a turn.
type TurnSign int

// The zero value means that the update does neither.
const (
	TurnBegan TurnSign = iota + 1
	TurnEnded
)

// Update holds what a live session reports about itself.
type Update struct {
	Turn       TurnSign
	Alive      bool            // the session made progress; a retry inside the agent does not count
	Usage      Usage           // of the session so far; never counted twice
	Turns      int             // started so far
	Thread     string          // set once a turn has started on it
	RateLimits json.RawMessage // nil when the update has none
}

// Heartbeat applies an update of a session of this run (SPEC §7.3, §13.5).
func (s *State) Heartbeat(id tracker.ID, u Update, now time.Time) {
	c, claimed := s.Claims[id]
	if !claimed || !c.holdsSlot() || c.Owner != s.Self {
		return // sent before the session ended, received after
	}
	if u.Alive && now.After(c.Heard) {
		c.Heard = now
	}
	switch {
	case u.Turn == TurnBegan && c.Phase == Running:
		c.TurnSince = now
	case u.Turn == TurnEnded:
		c.TurnSince = time.Time{}
	}
	if u.Thread != "" {
		c.Thread = u.Thread
	}
	if u.RateLimits != nil {
		s.RateLimits = u.RateLimits
	}
	if u.Usage.Total() > 0 {
		s.clearPause(c) // a model answered, so the systemic failure is over
	}
	c.Turns = max(c.Turns, u.Turns)
	s.countTokens(&c, u.Usage, now)
	s.Claims[id] = c
}

// clearPause ends the pause because the session of c works. A session that began
// before the pause proves nothing about a failure after its start.
func (s *State) clearPause(c Claim) {
	if !s.Tick.Paused && !c.Since.Before(s.Pause.Since) {
		s.Pause = Pause{}
	}
}
