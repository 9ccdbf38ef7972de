package schedule

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// Orphans are the owners, other than this run, of claims that are marked as
// running: each must be asked for before its claims can be adopted.
func (s *State) Orphans() []Owner {
	var owners []Owner
	seen := map[Owner]bool{s.Self: true}
	for _, id := range slices.Sorted(maps.Keys(s.Claims)) {
		c := s.Claims[id]
		if c.holdsSlot() && !seen[c.Owner] {
			seen[c.Owner] = true
			owners = append(owners, c.Owner)
		}
	}
	return owners
}

// OwnerStatus is what is known of the owner of a claim.
type OwnerStatus int

// An owner that cannot be asked is unknown, and alive until its lease is over.
const (
	Unknown OwnerStatus = iota
	Alive
	Dead
)

// Adopt takes over the claims of owners that are dead: what they ran becomes a
// retry that is due at once (SPEC §7.4). It counts as a failure, so that an
// issue which kills its run cannot do so for ever. An owner that lives does not
// hold is [Unknown]. It returns what it adopted.
func (s *State) Adopt(lives map[Owner]OwnerStatus, p Policy, now time.Time) []Claim {
	var adopted []Claim
	for _, id := range slices.Sorted(maps.Keys(s.Claims)) {
		c := s.Claims[id]
		if !c.holdsSlot() || c.Owner == s.Self {
			continue
		}
		switch lives[c.Owner] {
		case Alive:
			continue
		case Unknown:
			if now.Before(c.Lease) {
				continue
			}
		}
		why := "the run that worked on it ended without a word"
		if c.Owner.Run != "" {
			why = fmt.Sprintf("run %s ended without a word", c.Owner.Run)
		}
		c.Content = "" // the session may have edited the issue
		next := c.failed(why, p, now, time.Time{})
		c.setPhase(next.Phase, next.Why.String(), now)
		if next.Phase == Waiting {
			c.Due = now
		}
		s.Claims[id] = c
		adopted = append(adopted, c)
	}
	return adopted
}

// Requeue takes back a claim of this run whose session was never started.
func (s *State) Requeue(id tracker.ID, now time.Time) {
	c := s.Claims[id]
	c.setPhase(Waiting, "its session was not started", now)
	c.Due = now
	s.Claims[id] = c
}

// Retry makes a parked or waiting claim due at once with a clean record: an
// operator's word. It reports whether there was such a claim.
func (s *State) Retry(id tracker.ID, now time.Time) bool {
	c, claimed := s.Claims[id]
	if !claimed || c.holdsSlot() {
		return false
	}
	c.setPhase(Waiting, "an operator asked for a retry", now)
	c.Due = now
	c.Attempt = min(c.Attempt, 1)
	c.Failures, c.Idle, c.Tokens = 0, 0, 0
	s.Claims[id] = c
	return true
}

// Release releases a parked or waiting claim with all its history: an operator's
// word. It reports whether there was such a claim.
func (s *State) Release(id tracker.ID) bool {
	c, claimed := s.Claims[id]
	if !claimed || c.holdsSlot() {
		return false
	}
	delete(s.Claims, id)
	return true
}

// NewTick begins a tick: what the last one has used no longer counts.
func (s *State) NewTick() { s.Tick, s.Faults = Spent{}, nil }

// CarryOverTick takes over what another reading of the state knows of this tick.
func (s *State) CarryOverTick(old *State) {
	s.Tick, s.Faults, s.Completed = old.Tick, old.Faults, old.Completed
}
