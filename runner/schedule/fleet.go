package schedule

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// The limits of a fleet.
const (
	MaxShards    = 256                // jobs of one matrix
	MaxSlots     = 16                 // sessions at once in a shard
	MaxShardTime = 7 * 24 * time.Hour // longest life of a shard, from its plan to its end
)

// Fleet describes how the sessions of a plan are spread over its shards.
type Fleet struct {
	// Owner is the owner of every shard, but with Shard 0. No two plans may have the same:
	// it tells to which plan a result belongs.
	Owner Owner
	// Name is the same for all plans that share the slots of the fleet: the plans of one
	// workflow file. It is empty where runs have no workflow.
	Name   string
	Shards int // maximum of shards, from 1 to MaxShards
	Slots  int // maximum of sessions in each shard, from 1 to MaxSlots
	// Lease is the time for which a shard counts as alive if nobody can be asked about it: the
	// time until its start, its limit, and a margin.
	Lease time.Duration
	// RunsOn holds the labels of the runner that an issue needs, by label of the issue. If
	// several labels of an issue are in it, the first in alphabetical order counts.
	RunsOn map[string][]string
}

// Shard describes a process of a fleet.
type Shard struct {
	Number int          // number in the fleet, from 1
	RunsOn []string     // labels of the runner; nil for the default runner
	IDs    []tracker.ID // issues of the slice
}

// Owns reports whether the owner is a shard of this fleet.
func (f Fleet) Owns(o Owner) bool { return o.Shard > 0 && o == f.Owner.OfShard(o.Shard) }

// Bind returns the policy of a fleet's plan: p, but with as many concurrent sessions as all
// shards have slots. The sessions of earlier plans of the fleet count against them, and the
// sessions of other fleets and of single processes do not.
func (f Fleet) Bind(p Policy) Policy {
	p.MaxConcurrent, p.OfFleet, p.Fleet = f.shards()*f.slots(), true, f.Name
	return p
}

func (f Fleet) shards() int { return min(max(f.Shards, 1), MaxShards) }

func (f Fleet) slots() int { return min(max(f.Slots, 1), MaxSlots) }

// Spread gives each Dispatch an owner and its share of the rest of the budgets. It
// returns the decisions, and the shards that have work. It leaves out each Dispatch for which
// there is no slot or no token: its issue waits for the next plan. Other decisions stay as
// they are. A share is no more than the issue may still use of its own budget, because it is
// set aside for a day if the shard is lost.
//
// Issues that need different runners are never in the same shard. Spread uses as few shards
// as possible. The numbers of issues of two shards with the same runner differ by at most one.
func (f Fleet) Spread(s *State, ds []Decision, p Policy, now time.Time) ([]Decision, []Shard) {
	inTokens, inUSD := s.measures(p.Budget, now)
	tokens, usd := inTokens.rest(), inUSD.rest()
	groups := f.group(ds, min(tokens.left, usd.left))
	var shards []Shard
	shardOf := map[tracker.ID]int{}
	for _, g := range groups {
		first, n := len(shards), (len(g.ids)+f.slots()-1)/f.slots()
		for i := range n {
			shards = append(shards, Shard{Number: first + i + 1, RunsOn: g.runsOn})
		}
		for i, id := range g.ids {
			shard := &shards[first+i%n]
			shard.IDs = append(shard.IDs, id)
			shardOf[id] = shard.Number
		}
	}
	share := Share{tokens.of(len(shardOf)), Money(usd.of(len(shardOf)))}
	spread := make([]Decision, 0, len(ds))
	for _, d := range ds {
		number, assigned := shardOf[d.ID]
		switch {
		case d.Action != Dispatch:
		case !assigned:
			continue
		default:
			d.Owner, d.Fleet, d.Lease, d.Share = f.Owner.OfShard(number), f.Name, f.Lease, share
			c := s.Claims[d.ID]
			if own := p.Budget.TokensPerIssue; tokens.limited && own > 0 {
				d.Share.Tokens = min(share.Tokens, max(own-c.Tokens, 1))
			}
			if own := p.Budget.USDPerIssue; usd.limited && own > 0 {
				d.Share.USD = min(share.USD, max(own-p.Budget.Prices.Of(c.Spent()).USD, 1))
			}
		}
		spread = append(spread, d)
	}
	return spread, shards
}

type runnerGroup struct {
	runsOn []string
	ids    []tracker.ID
}

// group returns the issues that start, in groups that need the same runner. It takes them in
// their order as long as there are slots, and at least one token, or one millionth of a
// dollar, for each.
func (f Fleet) group(ds []Decision, room int64) []*runnerGroup {
	var groups []*runnerGroup
	byKey := map[string]*runnerGroup{}
	shards := 0
	for _, d := range ds {
		if d.Action != Dispatch || room == 0 {
			continue
		}
		runsOn := f.runner(d.Issue.Labels)
		key := strings.Join(runsOn, "\x00")
		g := byKey[key]
		if g == nil || len(g.ids)%f.slots() == 0 { // its shards are full
			if shards == f.shards() {
				continue
			}
			shards++
		}
		if g == nil {
			g = &runnerGroup{runsOn: runsOn}
			byKey[key] = g
			groups = append(groups, g)
		}
		g.ids = append(g.ids, d.ID)
		room--
	}
	return groups
}

func (f Fleet) runner(labels []string) []string {
	for _, label := range slices.Sorted(slices.Values(labels)) {
		if runsOn := f.RunsOn[label]; len(runsOn) > 0 {
			return runsOn
		}
	}
	return nil
}

// CompareOwners compares two owners, for sorting. The owners of one fleet are in the order
// of their shards.
func CompareOwners(a, b Owner) int {
	return cmp.Or(
		cmp.Compare(a.Run, b.Run), cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Job, b.Job),
		cmp.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Started, b.Started),
		cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.Limit, b.Limit),
	)
}
