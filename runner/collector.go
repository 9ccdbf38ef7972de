package runner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/publish"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// collector settles the results of the shards of a fleet.
type collector struct {
	*core
	*account
	owners *owners
	left   func(context.Context, schedule.Owner) ([]fleet.Result, error) // LeftResults of [Runner]; may be nil
}

// collect settles the results in the state, and makes the report. It is called again with
// the state of another run that saves first.
func (c *collector) collect(ctx context.Context, plan fleet.Plan, results []fleet.Result) {
	now, p := time.Now(), c.policy()
	c.tick.Rows, c.tick.Parked, c.tick.Acted, c.tick.Stopped = nil, nil, 0, ""
	c.state.NewTick()
	known, late := c.settleResults(results, p, now)
	c.adoptShards(ctx, plan, p, now)
	c.tick.Recollected, c.tick.Late = known, late
	if known > 0 && len(c.tick.Rows) > 0 {
		c.notice(fmt.Sprintf("of %d results, %d had been taken over before, and the report of that collect has their issues", len(results), known))
	}
	unasked := map[int]bool{} // shards of which nobody knows whether they have ended
	for _, row := range c.tick.Rows {
		if c.state.Claims[row.ID].Phase == schedule.Parked {
			c.tick.Parked = append(c.tick.Parked, row.ID)
		}
		if row.Lost && row.Run == "" {
			unasked[row.Shard] = true
		}
	}
	if len(unasked) > 0 {
		c.warn(fmt.Sprintf("shards without a whole result: %d; nobody can be asked whether they still work: start collect when all have ended, or their issues get a second session", len(unasked)))
	}
	c.remember(now)
}

// settleResults settles the results of all shards and the faults that they found. known is the
// number of results that an earlier collect had settled, and late the number of results of
// which only the spending counts.
func (c *collector) settleResults(results []fleet.Result, p schedule.Policy, now time.Time) (known, late int) {
	var ends schedule.ShardEnds
	for _, r := range results {
		reserve, awaited := c.state.Reserves[r.Owner]
		settled, accepted := c.settle(r, p, now)
		switch {
		case !accepted:
		case len(settled) > 0:
			c.addRemarks(r, reserve)
			ends = append(ends, schedule.ShardEnd{Slice: r.State, Planned: reserve.Since})
		case awaited:
			late++
			c.addRemarks(r, reserve)
			c.notice(r.Owner.Name() + ": its result came after its issues had been taken over, so only its spending counts")
		default:
			known++
		}
	}
	excused, ignored := ends.Settle(c.state, p, now)
	for _, f := range excused {
		c.reportExcused(f.Before.ID)
	}
	if ignored.Why != "" {
		c.warn("one shard says that no session can work, although others worked; it pauses nothing: " + ignored.Why)
	}
	return known, late
}

// settle settles a result in the state, adds its issues to the report, and returns those that
// it changed. It reports false for a result that is refused, and warns of it.
func (c *collector) settle(r fleet.Result, p schedule.Policy, now time.Time) (settled []tracker.ID, accepted bool) {
	given := maps.Clone(c.state.Claims)
	settled, err := c.state.Settle(r.Owner, r.State, p, now)
	if err != nil {
		c.warn(fmt.Sprintf("%s: its result is refused, and its issues count as failed: %v", r.Owner.Name(), err))
		return nil, false
	}
	c.tick.Acted += len(settled)
	for _, row := range r.Tick.Rows {
		if !slices.Contains(settled, row.ID) {
			continue
		}
		claim := given[row.ID] // the shard does not say which issue an id belongs to
		row.Identifier, row.Title, row.URL = claim.Identifier, claim.Title, claim.URL
		if branch, ok := publish.KeptBranch(row.Kept.Commands); ok && (c.wf.Settings.Repository == nil || !publish.IsOwn(c.branchOf(claim.Identifier), branch)) {
			c.warn(fmt.Sprintf("%s: the commands for its kept work are left out, because they are for %s, which is not a branch of the issue", claim.Identifier, branch))
			row.Kept.Commands = nil
		}
		row.Shard, row.Run, row.Job = r.Owner.Shard, r.Owner.Run, cmp.Or(r.Job, c.owners.job[r.Owner])
		c.tick.Rows = append(c.tick.Rows, row)
	}
	for _, id := range settled {
		saved := r.State.Claims[id]
		if claim, kept := c.state.Claims[id]; kept && saved.Phase.HasSession() { // the shard was killed in it
			row := c.addLost(claim, r.Owner, c.owners.job[r.Owner], true)
			row.Job = cmp.Or(r.Job, row.Job)
			row.Turns, row.Usage = saved.Turns, saved.Live
			c.noteDeath(r.Owner, claim.Identifier)
		}
	}
	return settled, true
}

// addRemarks adds the warnings, notices, errors and spending in the report of a shard to the
// report of the tick. The reserve of the shard bounds the spending.
func (c *collector) addRemarks(r fleet.Result, reserve schedule.Reserve) {
	shard := r.Tick
	c.warn(shard.Warnings...)
	for _, text := range shard.Notices {
		c.notice(text)
	}
	for _, text := range shard.Errors {
		c.problem(progress.Shards, text)
	}
	if c.tick.Stopped == "" {
		c.tick.Stopped = shard.Stopped
	}
	spent := shard.Spent
	if spent.Usage = reserve.Bound(spent.Usage); spent.Usage.Total() != shard.Spent.Usage.Total() {
		c.warn(fmt.Sprintf("%s: its result claims %d tokens, more than its sessions can have used: %d are counted",
			r.Owner.Name(), shard.Spent.Usage.Total(), spent.Usage.Total()))
	}
	c.state.Tick = c.state.Tick.Plus(spent)
}

// adoptShards adopts the claims of the shards without a result. It charges nothing for a shard
// that never began.
func (c *collector) adoptShards(ctx context.Context, plan fleet.Plan, p schedule.Policy, now time.Time) {
	c.owners.askAll(ctx)
	statuses := map[schedule.Owner]schedule.OwnerStatus{}
	for _, owner := range c.state.Orphans() {
		statuses[owner] = c.shardStatus(owner, plan)
	}
	for _, a := range c.state.Adopt(statuses, p, now) {
		c.noteAdopted(a)
		c.addLost(a.Claim, a.From, c.owners.job[a.From], a.Began)
	}
}

// shardStatus returns the status of an owner for collect, which takes over only claims of
// shards that left no result. Every other owner counts as alive: the next plan decides about
// it.
func (c *collector) shardStatus(owner schedule.Owner, plan fleet.Plan) schedule.OwnerStatus {
	status := c.owners.status[owner]
	switch {
	case !c.isOfFleet(owner, plan):
		return schedule.Alive
	case status == schedule.Unknown && owner.Run == c.state.Self.Run && owner.Run != "":
		// On a runner of the user it may still run, so a later tick asks again.
		c.warn(owner.Name() + " left no result, and it cannot be asked whether it still runs: its issues wait until the next tick can ask, or until its time is over")
	case status == schedule.Unknown:
		return schedule.Dead // the engine starts collect when all shards have ended
	}
	return status
}

// isOfFleet reports whether the owner is a shard of the plan, or of Self's workflow run.
func (c *collector) isOfFleet(owner schedule.Owner, plan fleet.Plan) bool {
	if owner.Shard == 0 {
		return false
	}
	ofRun := owner.Run != "" && owner.Run == c.state.Self.Run && owner.Attempt <= c.state.Self.Attempt
	return ofRun || owner == plan.ShardOwner(owner.Shard)
}

// settleLeft settles the results of fleets that ended without collecting them. It asks for
// the results of each fleet once in a run.
func (c *collector) settleLeft(ctx context.Context) {
	if c.left == nil {
		return
	}
	for _, owner := range c.state.Orphans() {
		fleetOwner := schedule.Owner{Run: owner.Run, Attempt: owner.Attempt, Started: owner.Started}
		if owner.Shard == 0 || !c.owners.isOver(owner) || c.owners.collected[fleetOwner] {
			continue
		}
		c.owners.collected[fleetOwner] = true
		results, err := c.left(ctx, fleetOwner)
		if err != nil {
			c.warnError(fmt.Sprintf("read what the shards of run %s left, without which their issues count as failed", owner.Run), err)
		}
		for _, r := range results {
			if c.owners.isOver(r.Owner) {
				c.settleLate(r, time.Now())
			}
		}
	}
}

// settleLate settles a result. If another run saves first, it is settled again in the state of
// that run.
func (c *collector) settleLate(r fleet.Result, now time.Time) {
	p := c.policy()
	settled, accepted := c.settle(r, p, now)
	if !accepted {
		return
	}
	c.unsaved.add(schedule.ShardSettled{Owner: r.Owner, Slice: r.State, At: now})
	c.log.Info("collected what a fleet left", "run", r.Owner.Run, "shard", r.Owner.Shard, "issues", len(settled))
}
