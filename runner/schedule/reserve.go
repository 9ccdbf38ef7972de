package schedule

import (
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

const (
	// reserveKept is the time for which a reserve stays open after the claims of its shard were
	// taken over. An artifact with the result is kept for a day, but a reference for longer. A
	// result that comes after this time does not change the claims, and its spending is not
	// counted.
	reserveKept = 25 * time.Hour
	// maxReserves bounds how many reserves of shards without a claim the state keeps.
	maxReserves = 2000
	// overshoot bounds the tokens by which a session exceeds its share of the budgets. It is
	// stopped after the response with which it does.
	overshoot = 2_000_000
	// maxSession bounds the tokens of a session that no budget limits.
	maxSession = 1_000_000_000
)

// Reserve is the share of a shard in a plan until its result is settled.
type Reserve struct {
	Fleet  string       `json:"fleet,omitempty" bound:"whole=256"`          // the name of the fleet
	Since  time.Time    `json:"since,omitzero"`                             // time when the shard was planned, or when its claims were taken over
	Tokens int64        `json:"tokens,omitempty"`                           // share of the token budgets for all sessions of the shard; 0: no limit
	USD    Money        `json:"usd,omitempty" bound:"max=1000000000000000"` // share of the budgets in dollars; 0: no limit
	IDs    []tracker.ID `json:"ids" bound:"keep list=16 whole=256"`         // issues that the plan gave to the shard, sorted
}

// limit returns the largest number of tokens that the sessions of the shard can have used.
func (r Reserve) limit() int64 {
	each := int64(overshoot)
	if r.Tokens == 0 {
		each = maxSession
	}
	return min(r.Tokens+each*int64(len(r.IDs)), MaxTokens)
}

// Bound returns the part of a usage that the sessions of the shard can have used. Its result
// may claim more, which would spend the budget of the day for everybody.
func (r Reserve) Bound(u Usage) Usage { return u.atMost(r.limit()) }

// boundDays returns the part of the spending of a shard that its sessions can have used.
func (r Reserve) boundDays(days []Day) []Day {
	tokens, sessions := r.limit(), len(r.IDs) // a shard starts each of its issues once
	bound := make([]Day, 0, len(days))
	for _, d := range days {
		d.Usage, d.Sessions = d.Usage.atMost(tokens), min(d.Sessions, sessions)
		tokens, sessions = tokens-d.Usage.Total(), sessions-d.Sessions
		bound = append(bound, d)
	}
	return bound
}

// reserve adds the issue and the tokens of a Dispatch to the reserve of its shard.
func (s *Spending) reserve(d Decision, now time.Time) {
	r, open := s.Reserves[d.Owner]
	if !open {
		r.Fleet, r.Since = d.Fleet, now
	}
	r.Tokens = min(r.Tokens+min(d.Share.Tokens, MaxTokens), MaxTokens)
	r.USD = min(r.USD+min(d.Share.USD, maxMoney), maxMoney)
	ids := append(slices.Clone(r.IDs), d.ID)
	slices.Sort(ids)
	r.IDs = slices.Compact(ids)
	if s.Reserves == nil {
		s.Reserves = map[Owner]Reserve{}
	}
	s.Reserves[d.Owner] = r
}

// Reserved is the sum of the reserves of shards that may still spend tokens.
type Reserved struct {
	Shards int   `json:"shards"`
	Tokens int64 `json:"total_tokens"`
	USD    Money `json:"usd"`
}

// Reserved returns the sum of the open reserves of all other owners.
func (s *Spending) Reserved() (all Reserved) {
	for owner, r := range s.Reserves {
		if owner != s.Self && (r.Tokens > 0 || r.USD > 0) {
			all.Shards++
			all.Tokens = min(all.Tokens+r.Tokens, MaxTokens)
			all.USD = min(all.USD+r.USD, maxMoney)
		}
	}
	return all
}

// forgetReserves deletes reserves of owners that have no claim any more: all that are older
// than reserveKept, and the oldest if there are more than maxReserves.
func (s *Spending) forgetReserves(claims map[tracker.ID]Claim, now time.Time) {
	if len(s.Reserves) == 0 {
		return
	}
	live := map[Owner]bool{}
	for _, c := range claims {
		live[c.Owner] = true
	}
	var closed []Owner
	for owner, r := range s.Reserves {
		switch {
		case live[owner]:
		case now.Sub(r.Since) > reserveKept:
			delete(s.Reserves, owner)
		default:
			closed = append(closed, owner)
		}
	}
	if over := len(closed) - maxReserves; over > 0 {
		slices.SortStableFunc(closed, func(a, b Owner) int {
			if c := s.Reserves[a].Since.Compare(s.Reserves[b].Since); c != 0 {
				return c
			}
			return CompareOwners(a, b)
		})
		for _, owner := range closed[:over] {
			delete(s.Reserves, owner)
		}
	}
}

// owned returns the issues that the owner works on, sorted. For a shard it looks only at the
// issues of the reserve, because searching a large state once for each shard takes too long.
func (s *State) owned(owner Owner) []tracker.ID {
	r, open := s.Reserves[owner]
	among := r.IDs
	if !open {
		among = slices.Collect(maps.Keys(s.Claims))
	}
	var ids []tracker.ID
	for _, id := range among {
		if c := s.Claims[id]; c.Phase.HasSession() && c.Owner == owner {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
