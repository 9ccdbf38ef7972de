package runner

import (
	"math/rand/v2"
	"time"

	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// pollPerShard times the number of shards is the least time between two polls of a shard.
// With it, a fleet of any size uses less than half of the requests that a tracker allows in
// an hour.
const pollPerShard = 1500 * time.Millisecond

// fleetPart holds the data of a run that is the plan or a shard of a fleet.
type fleetPart struct {
	*core
	setup *setupDigest

	plan     *schedule.Fleet  // fleet that this run plans; nil for other runs
	assigned []schedule.Shard // shards that have work by the plan
	saved    bool             // the claims of the shards are saved, so nothing more starts

	shards int // number of shards of the fleet in which this run is one; 0 for other runs
	sliced int // number of claims with which a shard began
}

// isShard reports whether the run is one shard of a fleet. A shard starts one session on
// each issue of its slice. It does not read, adopt or clean up other issues.
func (f *fleetPart) isShard() bool { return f.shards > 0 }

// limit replaces the limits of a whole tick by the limits of a shard. The plan has given it no
// more issues than it has slots, and schedule enforces its share of the budgets.
func (f *fleetPart) limit(p *schedule.Policy) {
	p.MaxConcurrent, p.MaxPerTick, p.MaxPerState = max(f.sliced, 1), max(f.sliced, 1), nil
	p.Budget.TokensPerTick, p.Budget.TokensPerDay, p.Budget.USDPerTick, p.Budget.USDPerDay = 0, 0, 0, 0
}

// pollEvery returns the time until the next poll. In a shard it is partly random, so that
// shards which began together do not poll together.
func (f *fleetPart) pollEvery() time.Duration {
	every := f.wf.Settings.Poll
	if !f.isShard() {
		return every
	}
	every = max(every, time.Duration(f.shards)*pollPerShard)
	if f.nextPoll.IsZero() {
		return rand.N(every) + time.Millisecond
	}
	return every*4/5 + rand.N(every*2/5)
}

// slices returns the plan, with the slices of the shards as they were saved.
func (f *fleetPart) slices(planned time.Time) fleet.Plan {
	plan := fleet.Plan{Owner: f.plan.Owner}
	for _, shard := range f.assigned {
		plan.Shards = append(plan.Shards, fleet.Slice{
			Number: shard.Number, RunsOn: shard.RunsOn, State: f.state.Slice(plan.ShardOwner(shard.Number), planned),
		})
	}
	return plan
}

// spread gives the Dispatches among the decisions to shards, if this is the plan of a fleet.
func (f *fleetPart) spread(decisions []schedule.Decision) []schedule.Decision {
	if f.plan == nil || f.saved {
		return decisions
	}
	decisions, f.assigned = f.plan.Spread(f.state, decisions, f.policy(), time.Now())
	if len(f.assigned) > 0 {
		f.state.Salt = f.setup.salt // otherwise each shard makes its own, and their digests cannot be compared
	}
	return decisions
}

// takeBack takes back the claims that a failed save has given to shards all the same: no shard
// knows of them.
func (f *fleetPart) takeBack(state *schedule.State) {
	if f.plan == nil || f.saved {
		return
	}
	for _, owner := range state.Orphans() {
		if f.plan.Owns(owner) {
			state.Unstart(owner, time.Now())
			f.pollSoon()
		}
	}
}
