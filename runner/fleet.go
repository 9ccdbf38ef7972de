package runner

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// pollPerShard times the number of shards is the least time between two polls of a shard.
// With it, a fleet of any size uses less than half of the requests that a tracker allows in
// an hour.
const pollPerShard = 1500 * time.Millisecond

// isShard reports whether the run is one shard of a fleet. A shard starts one session on
// each issue of its slice. It does not read, adopt or clean up other issues.
func (l *loop) isShard() bool { return l.Shards > 0 }

// limitShard replaces the limits of a whole tick by those of a shard. The plan has given it
// no more issues than it has slots, and schedule enforces its share of the budgets.
func (l *loop) limitShard(p *schedule.Policy) {
	p.MaxConcurrent, p.MaxPerTick, p.MaxPerState = max(l.sliced, 1), max(l.sliced, 1), nil
	p.Budget.TokensPerTick, p.Budget.TokensPerDay = 0, 0
}

// pollEvery returns the time until the next poll. In a shard it is partly random, so that
// shards which began together do not poll together.
func (l *loop) pollEvery() time.Duration {
	every := l.wf.Settings.Poll
	if !l.isShard() {
		return every
	}
	every = max(every, time.Duration(l.Shards)*pollPerShard)
	if l.nextPoll.IsZero() {
		return rand.N(every) + time.Millisecond
	}
	return every*4/5 + rand.N(every*2/5)
}

// assigned holds what a plan gave to shards.
type assigned struct {
	shards []schedule.Shard
	saved  bool // their claims are saved, so nothing more starts
}

// Assign performs the plan of a fleet: a tick that gives its sessions to shards. It returns
// after their claims are saved. It fails with the errors of [Runner.Run].
func (r *Runner) Assign(ctx context.Context) (fleet.Plan, report.Tick, error) {
	l, err := r.run(ctx)
	if err != nil {
		return fleet.Plan{}, l.tick, err
	}
	plan := l.fleetPlan()
	for _, shard := range plan.Shards {
		l.tick.Assigned.Issues += len(shard.State.Claims)
	}
	l.tick.Assigned.Shards = len(plan.Shards)
	if l.tick.Assigned.Shards > 0 {
		l.Log.Info("planned", "issues", l.tick.Assigned.Issues, "shards", l.tick.Assigned.Shards)
	}
	return plan, l.tick, nil
}

// fleetPlan returns the plan, with the slices of the shards as they were saved.
func (l *loop) fleetPlan() fleet.Plan {
	plan := fleet.Plan{Owner: l.Fleet.Owner}
	for _, shard := range l.assigned.shards {
		plan.Shards = append(plan.Shards, fleet.Slice{
			Number: shard.Number, RunsOn: shard.RunsOn, State: l.state.Slice(plan.ShardOwner(shard.Number), l.tick.Ended),
		})
	}
	return plan
}

// spread gives the Dispatches among the decisions to shards, if this is the plan of a fleet.
func (l *loop) spread(decisions []schedule.Decision) []schedule.Decision {
	if l.Fleet == nil || l.assigned.saved {
		return decisions
	}
	decisions, l.assigned.shards = l.Fleet.Spread(l.state, decisions, l.policy(), time.Now())
	if len(l.assigned.shards) > 0 {
		l.state.Salt = l.salt // otherwise each shard makes its own, and their digests cannot be compared
	}
	return decisions
}
