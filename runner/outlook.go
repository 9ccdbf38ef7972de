package runner

import (
	"maps"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// outlook brings together from the other parts what a plan is made of: the policy with all limits,
// and the snapshot of the issues.
type outlook struct {
	*core
	*account
	run           *Runner // has the limits of the command line
	settings      *settings
	setup         *setupDigest
	issues        *issueReader
	conversations *conversations
	orders        *orders
	running       *sessions
	cleaner       *cleaner
	files         *files
	fleet         *fleetPart
}

// currentPolicy returns the workflow's policy, with the limits of the command line and of a fleet.
func (o *outlook) currentPolicy() schedule.Policy {
	p := o.wf.Settings.Policy
	p.Setup, p.Salt = o.setup.now, o.setup.salt
	p.Delivers = o.delivers()
	p.MaxConcurrent = max(p.MaxConcurrent-len(o.running.lost), 0) // a session that lost its claim still takes a slot
	switch {
	case o.run.Fleet != nil:
		p = o.run.Fleet.Bind(p)
	case o.fleet.isShard():
		o.fleet.limit(&p)
	}
	if o.run.MaxIssues > 0 {
		p.MaxPerTick = min(p.PerTick(), o.run.MaxIssues)
	}
	return p
}

func (o *outlook) snapshot(now time.Time) schedule.Snapshot {
	unavailable := o.unavailable()
	snap := o.issues.snapshot(o.state, unavailable, o.hold(now))
	o.conversations.addFeedback(&snap, unavailable)
	o.orders.addIssues(&snap, unavailable)
	snap.Own, snap.Steerable = o.running.ownChanges(), o.running.steerable()
	return snap
}

// unavailable returns the issues that no plan may touch: their workspaces are being removed,
// a session that lost its claim has not ended, or nobody knows how they are now.
func (o *outlook) unavailable() map[tracker.ID]bool {
	ids := maps.Clone(o.cleaner.removing)
	for w := range o.running.lost {
		ids[w.id] = true
	}
	maps.Copy(ids, o.issues.unasked)
	return ids
}

// hold returns the reason for which nothing may be started now; zero if there is none.
func (o *outlook) hold(now time.Time) schedule.Why {
	why := o.settings.hold()
	switch {
	case !why.None():
		return why
	case o.issues.unlisted:
		return schedule.Why{Reason: schedule.OnHold, Detail: o.issues.unread.Error()}
	case o.run.OrderOnly:
		return schedule.Why{Reason: schedule.CommandOnly, Detail: "this run only carries out a command"}
	case o.deadline.forbidsStart(now):
		return schedule.Why{Reason: schedule.OutOfTime, Detail: "too little time is left before the deadline"}
	case o.tick.Collects:
		return schedule.Why{Reason: schedule.NextPlan, Detail: "collect starts nothing"}
	case o.tick.Stopped == "failed":
		return schedule.Why{Reason: schedule.Interrupted, Detail: "the run failed"}
	case o.tick.Stopped != "":
		return schedule.Why{Reason: schedule.Interrupted, Detail: stopText(schedule.Reason(o.tick.Stopped))}
	case o.fleet.saved:
		return schedule.Why{Reason: schedule.BatchSpent, Detail: "the shards of this tick have their issues"}
	case o.run.Fleet != nil:
		return schedule.Why{} // shards fetch the repository
	}
	return o.files.hold()
}

func (o *outlook) hasRoom(now time.Time) bool {
	return schedule.NoRoom(o.state, o.hold(now), o.policy(), now).None()
}
