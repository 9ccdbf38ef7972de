package runner

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// pollPerShard is the time between two polls of a shard for each shard of its fleet.
// With it, one fleet of any size uses less than half of the requests that a tracker
// allows in an hour.
const pollPerShard = 1500 * time.Millisecond

// listenPerShard is the time between two reads of what people say about the issues of a
// shard, for each shard of its fleet. These are queries of GraphQL, which no ETag makes
// free; with it, a fleet of any size uses half of the 1,000 an hour that GitHub allows a
// job's token.
const listenPerShard = 7200 * time.Millisecond

// isShard reports whether the run is one shard of a fleet. It starts one session on each
// issue of its slice, and reads, adopts and cleans up no other one.
func (l *loop) isShard() bool { return l.Shards > 0 }

// limitShard replaces the limits of a whole tick by those of a shard: the plan has given it
// no more issues than it has slots, and a share of the budgets.
func (l *loop) limitShard(p *schedule.Policy) {
	p.MaxConcurrent, p.MaxPerTick, p.MaxPerState = max(l.sliced, 1), max(l.sliced, 1), nil
	p.Budget.TokensPerTick, p.Budget.TokensPerDay = 0, 0
}

// pollEvery returns the time until the next poll. Shards that began together drift apart.
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

// listens reports whether a poll also reads what people say. A shard does so less often
// than it polls: an answer is for the next session, and a command waits that long.
func (l *loop) listens(now time.Time) bool {
	if l.isShard() && now.Before(l.talks.nextRead) {
		return false
	}
	l.talks.nextRead = now.Add(time.Duration(l.Shards) * listenPerShard)
	return true
}

// Assign performs the plan of a fleet: a tick whose sessions are given to shards. Their
// claims are saved when it returns. The errors are those of [Runner.Run].
func (r *Runner) Assign(ctx context.Context) (fleet.Plan, report.Tick, error) {
	l, err := r.run(ctx)
	if err != nil {
		return fleet.Plan{}, l.tick, err
	}
	plan := l.fleetPlan()
	for _, shard := range plan.Shards {
		l.tick.Assigned.Issues += len(shard.State.Claims)
	}
	if l.tick.Assigned.Shards = len(plan.Shards); l.tick.Assigned.Shards > 0 {
		l.Log.Info("planned", "issues", l.tick.Assigned.Issues, "shards", l.tick.Assigned.Shards)
	}
	return plan, l.tick, nil
}

// fleetPlan returns what the shards need to know.
func (l *loop) fleetPlan() fleet.Plan {
	plan := fleet.Plan{Owner: l.Fleet.Owner}
	for _, shard := range l.shards {
		plan.Shards = append(plan.Shards, fleet.Slice{
			Number: shard.Number, RunsOn: shard.RunsOn, State: l.state.Slice(plan.ShardOwner(shard.Number), l.tick.Ended),
		})
	}
	return plan
}

// spread gives the sessions of a plan to shards, if this is the plan of a fleet.
func (l *loop) spread(decisions []schedule.Decision) []schedule.Decision {
	if l.Fleet == nil || l.assigned {
		return decisions
	}
	decisions, l.shards = l.Fleet.Spread(l.state, decisions, l.policy(), time.Now())
	if len(l.shards) > 0 {
		l.state.Salt = l.salt // otherwise each shard makes its own, and their digests cannot be compared
	}
	return decisions
}

// takeBack gives back what a save that seemed to fail has assigned: no shard knows of it.
func (l *loop) takeBack(state *schedule.State) {
	if l.Fleet == nil || l.assigned {
		return
	}
	for _, owner := range state.Orphans() {
		if l.Fleet.Owns(owner) {
			state.Unstart(owner, time.Now())
			l.pollSoon()
		}
	}
}
