package schedule

import (
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

const (
	// reserveKept is how long the result of a shard is waited for after its claims were
	// taken over. A result is kept for a day.
	reserveKept = 25 * time.Hour
	// maxReserves bounds how many reserves of shards without a claim the state keeps.
	maxReserves = 2000
)

// Reserve is what a plan has set aside for a shard until its result is counted.
type Reserve struct {
	Since  time.Time    // when it was planned, or when its claims were taken over
	Tokens int64        // its share of the budgets, together for all its sessions; 0: no limit
	IDs    []tracker.ID // of the issues that it was given, sorted
}

// reserve adds a session to what is reserved for a shard.
func (s *State) reserve(d Decision, now time.Time) {
	r, open := s.Open[d.Owner]
	if !open {
		r.Since = now
	}
	r.Tokens = min(r.Tokens+min(d.Share, MaxTokens), MaxTokens)
	ids := append(slices.Clone(r.IDs), d.ID)
	slices.Sort(ids)
	r.IDs = slices.Compact(ids)
	if s.Open == nil {
		s.Open = map[Owner]Reserve{}
	}
	s.Open[d.Owner] = r
}

// awaitResult notes that the claims of a shard were taken over: its result may still come.
func (s *State) awaitResult(owner Owner, now time.Time) {
	if r, open := s.Open[owner]; open {
		r.Since = now
		s.Open[owner] = r
	}
}

// Reserved says what is set aside for other processes that may still spend it.
type Reserved struct {
	Shards int
	Tokens int64
}

// Reserved returns what is reserved for shards without a result, except Self.
func (s *State) Reserved() (all Reserved) {
	for owner, r := range s.Open {
		if owner != s.Self && r.Tokens > 0 {
			all.Shards++
			all.Tokens = min(all.Tokens+r.Tokens, MaxTokens)
		}
	}
	return all
}

// tokensLeft returns how many tokens the sessions that start now may spend; limited is
// false if no budget says so.
func (s *State) tokensLeft(b Budget, now time.Time) (left int64, limited bool) {
	left = MaxTokens
	if b.TokensPerTick > 0 {
		left, limited = b.TokensPerTick-s.Tick.Usage.Total(), true
	}
	if b.TokensPerDay > 0 {
		left, limited = min(left, b.TokensPerDay-s.SpentToday(now).Usage.Total()-s.Reserved().Tokens), true
	}
	return max(left, 0), limited
}

// forgetReserves drops the reserves of shards that no longer have a claim, if their
// results are not expected any more or if there are too many.
func (s *State) forgetReserves(now time.Time) {
	if len(s.Open) == 0 {
		return
	}
	live := map[Owner]bool{}
	for _, c := range s.Claims {
		live[c.Owner] = true
	}
	var closed []Owner
	for owner, r := range s.Open {
		switch {
		case live[owner]:
		case now.Sub(r.Since) > reserveKept:
			delete(s.Open, owner)
		default:
			closed = append(closed, owner)
		}
	}
	if over := len(closed) - maxReserves; over > 0 {
		slices.SortFunc(closed, func(a, b Owner) int {
			if c := s.Open[a].Since.Compare(s.Open[b].Since); c != 0 {
				return c
			}
			return CompareOwners(a, b)
		})
		for _, owner := range closed[:over] {
			delete(s.Open, owner)
		}
	}
}

// addDays adds the spending of another process.
func (s *State) addDays(days []Day) {
	for _, more := range days {
		day := s.day(more.Date)
		day.Sessions += more.Sessions
		day.Usage.Input = min(day.Usage.Input+more.Usage.Input, MaxTokens)
		day.Usage.Output = min(day.Usage.Output+more.Usage.Output, MaxTokens)
		day.Time += min(more.Time, MaxSlots*MaxShardTime)
	}
}

// owned returns the issues that the owner works on, sorted. Those of a shard are among the
// issues of its reserve, so that a state with many claims is not searched for each shard.
func (s *State) owned(owner Owner) []tracker.ID {
	r, open := s.Open[owner]
	among := r.IDs
	if !open {
		among = slices.Collect(maps.Keys(s.Claims))
	}
	var ids []tracker.ID
	for _, id := range among {
		if c := s.Claims[id]; c.holdsSlot() && c.Owner == owner {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
