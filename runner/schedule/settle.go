package schedule

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// Slice returns the state that a shard works with: the claims that the owner was given, as
// if nobody had started a session on them, with their conversations and deliveries. A
// command that somebody gives meanwhile is obeyed after the shard.
func (s *State) Slice(owner Owner, now time.Time) *State {
	slice := New(owner)
	slice.Pause, slice.Wait, slice.Salt = s.Pause, s.Wait, s.Salt
	if r, open := s.Open[owner]; open {
		slice.Open = map[Owner]Reserve{owner: r}
	}
	for _, id := range s.owned(owner) {
		slice.Claims[id] = s.Claims[id].unstarted(now)
		if d, delivered := s.Deliveries[id]; delivered {
			slice.Deliver(id, d)
		}
		talk := s.conversation(id, now)
		talk.Ordered = Order{}
		slice.converse(id, talk)
	}
	return slice
}

// unstarted returns the claim as it is if its session was never started: due at once.
func (c Claim) unstarted(now time.Time) Claim {
	c.setPhase(Waiting, "its session was not started", now)
	c.Due = now
	c.Sessions = max(c.Sessions-1, 0)
	return c
}

// Unstart gives back the claims of a shard that never began: they are due at once, and
// not charged. It closes what was reserved for the shard, and returns the claims.
func (s *State) Unstart(owner Owner, now time.Time) []Claim {
	var claims []Claim
	for _, id := range s.owned(owner) {
		c := s.Claims[id].unstarted(now)
		s.Claims[id] = c
		claims = append(claims, c)
	}
	delete(s.Open, owner)
	return claims
}

// Settle takes over what a shard leaves, and returns the issues that it did so for. A
// claim is replaced only if the owner still has it: otherwise it was taken over, and what
// the shard says about it comes too late. A claim with a session that did not end was left
// by a shard that was killed: it fails as in [State.Adopt]. What the shard spent counts
// once, as long as its reserve is open.
//
// Settle changes nothing if the slice holds something about an issue that the owner was
// not given.
func (s *State) Settle(owner Owner, slice *State, p Policy, now time.Time) ([]tracker.ID, error) {
	owned := s.owned(owner)
	reserve, open := s.Open[owner]
	if !open && len(owned) == 0 {
		return nil, nil // it was settled, or given up
	}
	given := map[tracker.ID]bool{}
	for _, id := range slices.Concat(owned, reserve.IDs) {
		given[id] = true
	}
	if id, alien := slice.alien(given); alien {
		return nil, fmt.Errorf("settle %s: its result is about issue %.80q, which it was not given: nothing of it counts", owner.Name(), id)
	}
	slice = slice.Clone()
	slice.Self = owner
	slice.BoundTimes(p, now)
	slice.dropForeignSetup(s)
	for _, id := range owned {
		s.settleClaim(id, slice, p, now)
	}
	if !open {
		return owned, nil
	}
	s.addDays(slice.Days)
	delete(s.Open, owner)
	if len(owned) > 0 { // otherwise it is too late for what is true for some time only
		s.settlePause(slice.Pause, reserve.Since)
		if slice.Wait.Until.After(s.Wait.Until) {
			s.Wait = slice.Wait
		}
		if slice.RateLimits != nil {
			s.RateLimits = slice.RateLimits
		}
	}
	return owned, nil
}

// alien returns an issue that the state knows and that is not one of the given ones.
func (s *State) alien(given map[tracker.ID]bool) (tracker.ID, bool) {
	known := slices.Concat(
		slices.Sorted(maps.Keys(s.Claims)), slices.Sorted(maps.Keys(s.Deliveries)), slices.Sorted(maps.Keys(s.Conversations)))
	for _, id := range known {
		if !given[id] {
			return id, true
		}
	}
	return "", false
}

// dropForeignSetup forgets digests that cannot be compared with those of the state that
// the slice is settled in. That state takes the salt of the first slice that has digests.
func (s *State) dropForeignSetup(into *State) {
	if into.Salt == "" {
		into.Salt = s.Salt
	}
	if s.Salt == into.Salt {
		return
	}
	s.Pause.Setup = Setup{}
	for id, c := range s.Claims {
		c.Setup = Setup{}
		s.Claims[id] = c
	}
}

// settleClaim replaces what the state holds on an issue.
func (s *State) settleClaim(id tracker.ID, slice *State, p Policy, now time.Time) {
	if c, kept := slice.Claims[id]; kept && c.holdsSlot() {
		slice.abandon(c, slice.Self.Name()+" ended before its session did", p, now)
	}
	if c, kept := slice.Claims[id]; kept {
		s.Claims[id] = c
	} else {
		delete(s.Claims, id)
	}
	ordered := s.Conversations[id].Ordered // meanwhile
	s.Deliver(id, slice.Deliveries[id])
	if talk, talks := slice.Conversations[id]; talks {
		talk.Ordered = ordered
		s.converse(id, talk)
	}
}

// settlePause takes over what a shard found out about systemic failures since it was
// planned.
func (s *State) settlePause(found Pause, planned time.Time) {
	given := !s.Pause.Since.After(planned) // the shard began with the pause of the state
	switch {
	case found.Why == "":
		if given {
			s.Pause = Pause{} // a session of it worked
		}
	case found.Since.Equal(s.Pause.Since):
		if found.Until.Before(s.Pause.Until) {
			s.Pause = found // a person ended it
		}
	case found.Since.After(s.Pause.Since):
		found.Until = later(found.Until, s.Pause.Until)
		s.Pause = found
	case found.Since.After(planned):
		s.Pause.Until = later(found.Until, s.Pause.Until)
	}
}

// SettleFaults looks at the failures of the shards that were settled together, as
// [State.Reclassify] does in one process: if the same one hit issues of two shards and
// no session had a turn, nothing more starts and no issue is charged. It returns the
// charges that it took back.
func (s *State) SettleFaults(shards [][]Fault, hadTurn bool, p Policy, now time.Time) []Fault {
	if hadTurn {
		return nil
	}
	byKind := map[string]map[int]bool{}
	for i, faults := range shards {
		for _, f := range faults {
			if byKind[f.Kind] == nil {
				byKind[f.Kind] = map[int]bool{}
			}
			byKind[f.Kind][i] = true
		}
	}
	var excused []Fault
	paused := map[string]bool{}
	for _, f := range slices.Concat(shards...) {
		if f.Kind == "" || len(byKind[f.Kind]) < 2 {
			continue
		}
		why := "the first issues of the tick fail in the same way: " + f.Why
		if !paused[f.Kind] {
			paused[f.Kind] = true
			s.pause(Outcome{Class: Systemic, Why: why, Fault: f.Kind}, p, now)
		}
		if !f.Excused && s.Excuse(f.Before, why, now) {
			f.Why, f.Excused = why, true
			excused = append(excused, f)
		}
	}
	return excused
}
