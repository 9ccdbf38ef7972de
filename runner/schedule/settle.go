package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// Slice returns the part of the state that the shard with this owner works on: its claims
// with their conversations and deliveries. The claims are due, as if their sessions had not
// been started: the shard starts them. It leaves out commands of [Issues.Order], which are
// obeyed after the result is settled.
func (s *State) Slice(owner Owner, now time.Time) *State {
	slice := New(owner)
	slice.Pause, slice.Wait, slice.Salt = s.Pause, s.Wait, s.Salt
	if r, open := s.Reserves[owner]; open {
		slice.Reserves = map[Owner]Reserve{owner: r}
	}
	for _, id := range s.owned(owner) {
		slice.Claims[id] = s.Claims[id].unstarted(now)
		if d, delivered := s.Deliveries[id]; delivered {
			slice.Deliver(id, d)
		}
		talk := s.conversation(id, now)
		talk.PendingCommand = Order{}
		slice.setConversation(id, talk)
	}
	return slice
}

// Settle applies the result of a shard, which is the slice as the shard left it, and returns
// the issues that it changed. It replaces only claims that the owner still has: others were
// taken over, so the result comes too late for them. If a session of the slice has not ended,
// the shard was killed, and the claim fails as in [State.Adopt]. Settle adds the spending of
// the shard if its reserve is open, and closes the reserve, so that it counts once.
//
// An agent may have written the result, so it speaks for the issues of the shard only:
// [Reserve.Bound] limits its spending, [ShardEnds.Settle] judges the pauses of all results
// together, and whether the tracker asks to wait is for the next request to find out.
//
// To settle a result a second time changes nothing. Settle fails, and changes nothing, if the
// slice has an issue that the plan did not give to the owner.
func (s *State) Settle(owner Owner, slice *State, p Policy, now time.Time) ([]tracker.ID, error) {
	owned := s.owned(owner)
	reserve, open := s.Reserves[owner]
	if !open && len(owned) == 0 {
		return nil, nil // it was settled before, or its reserve was forgotten
	}
	given := func(id tracker.ID) bool { return slices.Contains(owned, id) || slices.Contains(reserve.IDs, id) }
	if id, found := slice.IssueExcept(given); found {
		return nil, fmt.Errorf("settle %s: its result names issue %.80q, which the plan did not give to it: the whole result is refused", owner.Name(), id)
	}
	slice = slice.Clone()
	slice.Self = owner
	slice.BoundTimes(p, now)
	if s.Salt = cmp.Or(s.Salt, slice.Salt); s.Salt != slice.Salt {
		for id, c := range slice.Claims {
			c.Setup = Setup{} // digests with different salts cannot be compared
			slice.Claims[id] = c
		}
	}
	for _, id := range owned {
		s.settleClaim(id, slice, p, now)
	}
	if !open {
		return owned, nil
	}
	s.addDays(reserve.boundDays(slice.Days))
	delete(s.Reserves, owner)
	if len(owned) > 0 && slice.RateLimits != nil { // otherwise the result is too old
		s.RateLimits = slice.RateLimits
	}
	return owned, nil
}

// settleClaim replaces the claim, the delivery and the conversation of an issue by the ones
// of the slice.
func (s *State) settleClaim(id tracker.ID, slice *State, p Policy, now time.Time) {
	given, limit := s.Claims[id], s.Reserves[slice.Self].limit()
	if c, kept := slice.Claims[id]; kept && c.Phase.HasSession() {
		slice.abandon(c, slice.Self.Name()+" ended before its session did", p, now)
	}
	if c, kept := slice.Claims[id]; kept {
		c.Course = c.Course.boundBy(given.Course, limit)
		s.Claims[id] = c
	} else {
		delete(s.Claims, id)
	}
	planned := s.Conversations[id] // its command was given while the shard worked
	s.Deliver(id, slice.Deliveries[id])
	if talk, talks := slice.Conversations[id]; talks {
		talk.PendingCommand, talk.Labels = planned.PendingCommand, planned.Labels
		talk.Course = talk.Course.boundBy(given.Course, limit)
		s.setConversation(id, talk)
	}
	s.settleEnds(slice.Ends, given, limit)
}
