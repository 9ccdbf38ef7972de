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
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// Collect ends the tick of a fleet. It settles the results of the shards of a plan,
// adopts the claims of those without a result, and saves the state once. Inside Actions
// it adopts those of all shards of Self's workflow run, because the plan may be lost.
// Collect may be repeated: with the same results it changes nothing.
//
// It returns the state that it saved, and a report with a row for each issue that it settled
// or adopted. Results that were settled before have none, because nothing was worked on again.
// The errors are those of [Runner.Run].
func (r *Runner) Collect(ctx context.Context, plan fleet.Plan, results []fleet.Result) (*schedule.State, report.Tick, error) {
	l := newLoop(r)
	l.tick.Collects = true
	if at := plan.Owner.Started; at > 0 {
		l.tick.Started = time.UnixMilli(at)
	}
	err := l.openFleet(ctx)
	if err == nil {
		err = l.saveOver(ctx, "save what the shards left", func() error {
			l.collect(ctx, plan, results)
			return ctx.Err()
		})
	}
	if err == nil {
		l.readForReport(ctx)
	}
	l.finish(time.Now())
	return l.state, l.tick, err
}

// openFleet reads the workflow and the state, and takes over no claims.
func (l *loop) openFleet(ctx context.Context) error {
	wf, err := l.Workflows.Current()
	if err != nil {
		return err
	}
	if err := l.apply(ctx, wf); err != nil {
		return err
	}
	return l.load(ctx)
}

// collect settles the results in the state, and makes the report. It is called again with
// the state of another run that saves first.
func (l *loop) collect(ctx context.Context, plan fleet.Plan, results []fleet.Result) {
	now, p := time.Now(), l.policy()
	l.tick.Rows, l.tick.Parked, l.tick.Acted, l.tick.Stopped = nil, nil, 0, ""
	l.state.NewTick()
	known, late := l.settleResults(results, p, now)
	l.adoptShards(ctx, plan, p, now)
	l.tick.Recollected, l.tick.Late = known, late
	if known > 0 && len(l.tick.Rows) > 0 {
		l.notice(fmt.Sprintf("of %d results, %d had been taken over before, and the report of that collect has their issues", len(results), known))
	}
	unasked := map[int]bool{} // shards of which nobody knows whether they have ended
	for _, row := range l.tick.Rows {
		if l.state.Claims[row.ID].Phase == schedule.Parked {
			l.tick.Parked = append(l.tick.Parked, row.ID)
		}
		if row.Lost && row.Run == "" {
			unasked[row.Shard] = true
		}
	}
	if len(unasked) > 0 {
		l.warn(fmt.Sprintf("shards without a whole result: %d; nobody can be asked whether they still work: start collect when all have ended, or their issues get a second session", len(unasked)))
	}
	l.remember(now)
}

// settleResults settles the results of all shards and the faults that they found. It returns
// how many results an earlier collect had settled, and of how many only the spending counts,
// because they are late.
func (l *loop) settleResults(results []fleet.Result, p schedule.Policy, now time.Time) (known, late int) {
	var faults []schedule.Fault
	var ends []schedule.ShardEnd
	hadTurn := false
	for _, r := range results {
		reserve, awaited := l.state.Reserves[r.Owner]
		settled, accepted := l.settle(r, p, now)
		switch {
		case !accepted:
		case len(settled) > 0:
			l.addRemarks(r, reserve)
			faults = append(faults, oneOfEachKind(r.State.Faults)...)
			ends = append(ends, schedule.ShardEnd{Slice: r.State, Planned: reserve.Since})
			hadTurn = hadTurn || r.State.Tick.HadTurn
		case awaited:
			late++
			l.addRemarks(r, reserve)
			l.notice(r.Owner.Name() + ": its result came after its issues had been taken over, so only its spending counts")
		default:
			known++
		}
	}
	for _, f := range l.state.SettleFaults(faults, hadTurn, p, now) {
		l.reportExcused(f.Before.ID)
	}
	if ignored := l.state.SettlePause(ends, p, now); ignored.Why != "" {
		l.warn("one shard says that no session can work, although others worked; it pauses nothing: " + ignored.Why)
	}
	l.state.SettleRefusals(ends, p, now)
	return known, late
}

// oneOfEachKind returns the faults of one shard without those of a kind that it has before: a
// shard alone does not make a fault systemic for others. Faults that it has excused itself
// stay.
func oneOfEachKind(faults []schedule.Fault) []schedule.Fault {
	var some []schedule.Fault
	for _, f := range faults {
		if f.Excused || !slices.ContainsFunc(some, func(other schedule.Fault) bool { return other.Kind == f.Kind }) {
			some = append(some, f)
		}
	}
	return some
}

// settle settles a result in the state, adds its issues to the report, and returns those that
// it changed. It reports false for a result that is refused, and warns of it.
func (l *loop) settle(r fleet.Result, p schedule.Policy, now time.Time) (settled []tracker.ID, accepted bool) {
	given := maps.Clone(l.state.Claims)
	settled, err := l.state.Settle(r.Owner, r.State, p, now)
	if err != nil {
		l.warn(fmt.Sprintf("%s: its result is refused, and its issues count as failed: %v", r.Owner.Name(), err))
		return nil, false
	}
	l.tick.Acted += len(settled)
	for _, row := range r.Tick.Rows {
		if !slices.Contains(settled, row.ID) {
			continue
		}
		c := given[row.ID] // the shard does not say which issue an id belongs to
		row.Identifier, row.Title, row.URL = c.Identifier, c.Title, c.URL
		if branch, ok := publish.KeptBranch(row.Kept.Commands); ok && (l.wf.Settings.Repository == nil || !publish.IsOwn(l.branchOf(c.Identifier), branch)) {
			l.warn(fmt.Sprintf("%s: the commands for its kept work are left out, because they are for %s, which is not a branch of the issue", c.Identifier, branch))
			row.Kept.Commands = nil
		}
		row.Shard, row.Run, row.Job = r.Owner.Shard, r.Owner.Run, cmp.Or(r.Job, l.owners.job[r.Owner])
		l.tick.Rows = append(l.tick.Rows, row)
	}
	for _, id := range settled {
		saved := r.State.Claims[id]
		if c, kept := l.state.Claims[id]; kept && saved.Phase.HasSession() { // the shard was killed in it
			row := l.addLost(c, r.Owner, true)
			row.Job = cmp.Or(r.Job, row.Job)
			row.Turns, row.Usage = saved.Turns, saved.Live
		}
	}
	return settled, true
}

// addRemarks adds the warnings, notices, errors and spending in the report of a shard to the
// report of the tick. The reserve of the shard bounds the spending.
func (l *loop) addRemarks(r fleet.Result, reserve schedule.Reserve) {
	shard := r.Tick
	l.warn(shard.Warnings...)
	for _, text := range shard.Notices {
		l.notice(text)
	}
	for _, text := range shard.Errors {
		l.problem(progress.Shards, text)
	}
	if l.tick.Stopped == "" {
		l.tick.Stopped = shard.Stopped
	}
	spent := shard.Spent
	if spent.Usage = reserve.Bound(spent.Usage); spent.Usage != shard.Spent.Usage {
		l.warn(fmt.Sprintf("%s: its result claims %d tokens, more than its sessions can have used: %d are counted",
			r.Owner.Name(), shard.Spent.Usage.Total(), spent.Usage.Total()))
	}
	l.state.Tick = l.state.Tick.Plus(spent)
}

// addLost adds a row for a claim whose session left no report, and returns it. began tells
// whether the owner may have started the session.
func (l *loop) addLost(c schedule.Claim, owner schedule.Owner, began bool) *report.Row {
	row := l.tick.Row(c.ID)
	row.Identifier, row.Title, row.URL, row.State, row.Attempt = c.Identifier, c.Title, c.URL, c.State, c.Attempt
	row.Shard, row.Run, row.Job = owner.Shard, owner.Run, l.owners.job[owner]
	row.Class, row.Lost = schedule.Stopped, began
	if began {
		row.Class = schedule.IssueFailed
	}
	row.Why, row.Next = c.Why, c.Next()
	return row
}

// adoptShards adopts the claims of the shards without a result. Those of a shard that never
// began are not charged.
func (l *loop) adoptShards(ctx context.Context, plan fleet.Plan, p schedule.Policy, now time.Time) {
	l.owners.askAll(ctx)
	statuses := map[schedule.Owner]schedule.OwnerStatus{}
	for _, owner := range l.state.Orphans() {
		statuses[owner] = l.shardStatus(owner, plan)
	}
	for _, a := range l.state.Adopt(statuses, p, now) {
		l.noteAdopted(a)
		l.addLost(a.Claim, a.From, a.Began)
	}
}

// shardStatus returns the status of an owner for collect, which takes over only claims of
// shards that left no result. Every other owner counts as alive: the next plan decides about
// it.
func (l *loop) shardStatus(owner schedule.Owner, plan fleet.Plan) schedule.OwnerStatus {
	status := l.owners.status[owner]
	switch {
	case !l.isOfFleet(owner, plan):
		return schedule.Alive
	case status == schedule.Unknown && owner.Run == l.Self.Run && owner.Run != "":
		// On a runner of the user it may still run, so a later tick asks again.
		l.warn(owner.Name() + " left no result, and it cannot be asked whether it still runs: its issues wait until the next tick can ask, or until its time is over")
	case status == schedule.Unknown:
		return schedule.Dead // the engine starts collect when all shards have ended
	}
	return status
}

// isOfFleet reports whether the owner is a shard of the plan, or of Self's workflow run.
func (l *loop) isOfFleet(owner schedule.Owner, plan fleet.Plan) bool {
	if owner.Shard == 0 {
		return false
	}
	ofRun := owner.Run != "" && owner.Run == l.Self.Run && owner.Attempt <= l.Self.Attempt
	return ofRun || owner == plan.ShardOwner(owner.Shard)
}

// readForReport reads the issues with a claim and the candidates, so that the report can say
// why issues wait.
func (l *loop) readForReport(ctx context.Context) {
	err := l.issues.readByID(ctx, slices.Sorted(maps.Keys(l.state.Claims)))
	if err == nil {
		var candidates []tracker.Issue
		if candidates, err = l.issues.listByState(ctx, l.policy().ActiveStates); err == nil {
			l.issues.list(candidates, time.Now())
		}
	}
	if err != nil { // the results are saved, so this fails only a part of the report
		l.warnError("read for the report why other issues wait", err)
	}
}
