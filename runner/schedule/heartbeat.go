package schedule

import (
	"encoding/json"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// TurnSign is what an update says about the turn of a session.
type TurnSign int

// The zero value says nothing.
const (
	TurnBegan TurnSign = iota + 1
	TurnEnded
)

// Update is what a live session reports of itself.
type Update struct {
	Turn       TurnSign
	Alive      bool            // it made progress; a retry inside the agent is none
	Usage      Usage           // of the session so far, absolute; never counted twice
	Turns      int             // started so far
	Thread     string          // set once a turn has started on it
	RateLimits json.RawMessage // nil when it says nothing of them
}

// Heartbeat takes in a report of a session of this run (SPEC §7.3, §13.5).
func (s *State) Heartbeat(id tracker.ID, u Update, now time.Time) {
	c, claimed := s.Claims[id]
	if !claimed || !c.holdsSlot() || c.Owner != s.Self {
		return // a report that was on its way when the session ended
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
		s.clearPause(c) // a model answered: whatever stopped everyone is over
	}
	c.Turns = max(c.Turns, u.Turns)
	s.countTokens(&c, u.Usage, now)
	s.Claims[id] = c
}

// clearPause ends the pause because the session of a claim works. A session that
// began before the pause says nothing of what has failed since.
func (s *State) clearPause(c Claim) {
	if !s.Tick.Paused && !c.Since.Before(s.Pause.Since) {
		s.Pause = Pause{}
	}
}
