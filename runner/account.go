package runner

import (
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// account holds the report of the tick so far, and the spending of the run.
type account struct {
	*core
	tick    report.Tick
	before  schedule.Spent // spending of this run's earlier ticks
	partial bool           // the run is a shard, or it has given work to shards: collect adds the tick to the history
	died    string         // the last run or shard that is known to have been killed, in words; empty for none that is news
}

// reportExcused corrects the report on an issue whose charge was taken back, because its
// failure is systemic.
func (a *account) reportExcused(id tracker.ID) {
	row, claim := a.tick.Row(id), a.state.Claims[id]
	row.Class, row.Why, row.Next = schedule.Systemic, claim.Why, claim.Next()
	a.tick.Parked = slices.DeleteFunc(a.tick.Parked, func(parked tracker.ID) bool { return parked == id })
}

// reclassify classifies the end of a session in the light of the others of the
// tick. Failures that turn out to be systemic are no longer charged to their
// issues.
func (a *account) reclassify(id tracker.ID, o schedule.Outcome, at time.Time) schedule.Outcome {
	o, charged := a.state.Reclassify(id, o)
	for _, f := range charged {
		a.unsaved.add(schedule.Excused{Before: f.Before, Why: o.Why, At: at})
		if a.state.Excuse(f.Before, o.Why, at) {
			a.reportExcused(f.Before.ID)
		}
	}
	return o
}

// spent returns the spending of the run; for a service, of all its ticks.
func (a *account) spent() schedule.Spent { return a.before.Plus(a.state.Tick) }

// remember adds a tick that did something to the history. A tick that did nothing leaves the
// state as it was, so that there is nothing to save; the tick of a fleet is added when its
// results are collected.
func (a *account) remember(now time.Time) {
	if a.tick.Acted == 0 || a.partial {
		return
	}
	p := schedule.TickRecord{
		Run: a.state.Self.Run, Attempt: a.state.Self.Attempt, Started: a.tick.Started, Ended: now, Stopped: a.tick.Stopped,
		Parked: a.tick.ParkedCount(), Tokens: a.spent().Usage.Total(),
	}
	c := a.tick.Counts()
	p.Sessions, p.Done, p.Failed = a.tick.Sessions(), c.Completed, c.Failed
	a.state.AppendHistory(p)
}

// addLost adds a row for a claim whose session left no report, and returns it. began tells
// whether the owner may have started the session.
func (a *account) addLost(c schedule.Claim, owner schedule.Owner, job string, began bool) *report.Row {
	row := a.tick.Row(c.ID)
	row.Identifier, row.Title, row.URL, row.State, row.Attempt = c.Identifier, c.Title, c.URL, c.State, c.Attempt
	row.Shard, row.Run, row.Job = owner.Shard, owner.Run, job
	row.Class, row.Lost = schedule.Stopped, began
	if began {
		row.Class = schedule.IssueFailed
	}
	row.Why, row.Next = c.Why, c.Next()
	return row
}

func (a *account) noteAdopted(claim schedule.Adopted) {
	a.tick.Acted++
	a.log.Warn("adopted", "issue_id", claim.ID, "issue_identifier", claim.Identifier, "reason", claim.Why, "phase", claim.Phase)
	if claim.Began {
		a.noteDeath(claim.From, claim.Identifier)
	}
}

// noteDeath notes, for a notice, that an owner of a claim was killed. No error of its own was told.
func (a *account) noteDeath(owner schedule.Owner, identifier string) {
	a.died = owner.Name() + " was killed while a session worked on " + identifier
}
