package schedule

import (
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

const (
	// leaseTime bounds how long a claim counts as alive when its owner cannot be asked.
	leaseTime = 10 * time.Minute
	// spendingKept bounds the time for which a store may know nothing of the tokens that sessions
	// spend, if a budget limits them: a run that is killed leaves only what is stored, and the next
	// one may spend the rest.
	spendingKept = time.Minute
)

// Renew extends the leases of this run's claims when less than half of one is left, and reports
// whether it extended any. With a budget of tokens or money it does so each minute, because a store
// may keep the spending until something else changes. The reserve of a shard counts as spent, so a
// shard need not.
func (s *State) Renew(p Policy, now time.Time) bool {
	enough := leaseTime / 2
	if p.Budget.LimitsSpending() && s.Self.Shard == 0 {
		enough = leaseTime - spendingKept
	}
	var own []tracker.ID
	due := false
	for id, c := range s.Claims {
		if c.Phase.HasSession() && c.Owner == s.Self {
			own = append(own, id)
			due = due || c.Lease.Sub(now) < enough
		}
	}
	if !due {
		return false
	}
	for _, id := range own { // in one save
		c := s.Claims[id]
		c.Lease = now.Add(leaseTime)
		s.Claims[id] = c
	}
	return true
}

// Orphans returns the owners, other than this run, of claims that are marked as
// running. The claims of an owner are adopted only after its status is known.
func (s *State) Orphans() []Owner {
	var owners []Owner
	seen := map[Owner]bool{s.Self: true}
	for _, id := range slices.Sorted(maps.Keys(s.Claims)) {
		c := s.Claims[id]
		if c.Phase.HasSession() && !seen[c.Owner] {
			seen[c.Owner] = true
			owners = append(owners, c.Owner)
		}
	}
	return owners
}

// OwnerStatus tells whether the owner of a claim is alive.
type OwnerStatus int

// Unknown stands for an owner that cannot be asked: it counts as alive until its lease ends.
const (
	Unknown OwnerStatus = iota
	Alive
	Dead
	Unstarted // dead, and never alive: a shard whose job did not start
)

// Adopted represents a claim that was taken over, as it is now.
type Adopted struct {
	Claim
	From  Owner // owner before
	Began bool  // From was alive, so its session counts as failed
}

// Adopt takes over the claims of dead owners: each becomes a retry that is due at once
// (SPEC §7.4), and a failure of its issue, so that an issue that kills its run cannot do
// so forever. A claim of an owner that never began is not a failure: see [State.Unstart].
// An owner without a status is [Unknown]. Adopt returns the claims it took over.
func (s *State) Adopt(statuses map[Owner]OwnerStatus, p Policy, now time.Time) []Adopted {
	var adopted []Adopted
	for _, id := range slices.Sorted(maps.Keys(s.Claims)) {
		c := s.Claims[id]
		if !c.Phase.HasSession() || c.Owner == s.Self {
			continue
		}
		switch statuses[c.Owner] {
		case Alive:
			continue
		case Unstarted:
			for _, unstarted := range s.Unstart(c.Owner, now) {
				adopted = append(adopted, Adopted{Claim: unstarted, From: c.Owner})
			}
			continue
		case Unknown:
			if now.Before(c.Lease) {
				continue
			}
		}
		owner := c.Owner
		c = s.abandon(c, owner.Name()+" ended without releasing its claim", p, now)
		if r, open := s.Reserves[owner]; open { // its result may still come
			r.Since = now
			s.Reserves[owner] = r
		}
		if owner.Shard > 0 && p.Delivers { // it may have pushed; other owners save the state before they do
			d := s.Deliveries[id]
			d.Identifier, d.Lost = c.Identifier, true
			s.Deliver(id, d)
		}
		adopted = append(adopted, Adopted{Claim: c, From: owner, Began: true})
	}
	s.forgetReserves(s.Claims, now)
	return adopted
}

// abandon makes a claim whose owner ended before its session did a failure of its issue.
func (s *State) abandon(c Claim, why string, p Policy, now time.Time) Claim {
	c.Content = "" // the session may have edited the issue
	next := c.failed(why, p, now, time.Time{})
	if c.StopReason.parks() {
		next = parked(Why{c.StopReason, c.Why})
	}
	if next.Phase == Parked {
		s.addParked(c, parkedFor(c, Outcome{Class: IssueFailed}, next), now)
	}
	talk := s.conversation(c.ID, now)
	talk.end(Outcome{Class: IssueFailed}, c.StopReason, next.Phase)
	s.setConversation(c.ID, talk)
	c.setPhase(next.Phase, next.Why.String(), now)
	if next.Phase == Waiting {
		c.Due = now
	}
	if c.Host != "" {
		c.LostUntil = now.Add(HostNotice) // it lost the connection when the owner died, or is about to notice
	}
	s.Claims[c.ID] = c
	return c
}

// Requeue takes back the Dispatch of a claim of this run whose session was never started. The
// claim is due again at once, and the session does not count as started.
func (s *State) Requeue(id tracker.ID, now time.Time) {
	s.Claims[id] = s.Claims[id].unstarted(now)
	if day := s.today(now); day.Sessions > 0 {
		day.Sessions--
	}
}

// Unstart takes back the Dispatches of a shard that never began. Its claims are due at once
// and not charged, and its reserve is closed. Unstart returns the claims.
func (s *State) Unstart(owner Owner, now time.Time) []Claim {
	var claims []Claim
	for _, id := range s.owned(owner) {
		c := s.Claims[id].unstarted(now)
		s.Claims[id] = c
		claims = append(claims, c)
	}
	delete(s.Reserves, owner)
	return claims
}

// unstarted returns the claim with its last Dispatch taken back: it is due at once.
func (c Claim) unstarted(now time.Time) Claim {
	c.setPhase(Waiting, "its session was not started", now)
	c.Due = now
	c.Sessions, c.Course.Sessions = max(c.Sessions-1, 0), max(c.Course.Sessions-1, 0)
	return c
}
