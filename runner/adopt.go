package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// askTime bounds the time of one round for asking whether other runs are alive.
const askTime = 30 * time.Second

// owners holds the knowledge of a run about the other owners of claims.
type owners struct {
	*core
	ask func(context.Context, []schedule.Owner) map[schedule.Owner]OwnerAnswer // OwnerStatuses of [Runner]

	status    map[schedule.Owner]schedule.OwnerStatus // answers of this round
	job       map[schedule.Owner]string               // ids of their jobs at the provider, from the answers of this round
	adopted   map[tracker.ID]bool                     // claims that were taken over in this round
	collected map[schedule.Owner]bool                 // fleets, as owners with only Run, Attempt and Started, for whose results LeftResults was called
}

func (o *owners) endRound() {
	clear(o.status)
	clear(o.job)
	clear(o.adopted)
}

// askAll finds out which owners of claims are alive, and which jobs they ran in. It
// asks about each once in a round, however often the save conflicts, and bounds the time
// for all. The lease decides for owners that it could not ask in this time.
func (o *owners) askAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if !o.deadline.startBy.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, o.deadline.startBy)
		defer cancel()
	}
	unasked := slices.DeleteFunc(o.state.Orphans(), func(owner schedule.Owner) bool {
		_, asked := o.status[owner]
		return asked
	})
	if len(unasked) == 0 || ctx.Err() != nil {
		return
	}
	answers := o.ask(ctx, unasked)
	for _, owner := range unasked {
		o.status[owner], o.job[owner] = answers[owner].Status, answers[owner].Job
		if answers[owner].Unnamed {
			o.warn(fmt.Sprintf("no job of workflow run %s is called \"shard N\", so nobody knows what became of its lost shards, "+
				"and their issues wait until their time is over: name the job shard ${{ matrix.shard }}", owner.Run))
		}
	}
}

// isOver reports whether the claims of an owner can be adopted: it is dead, or it cannot be
// asked and its leases have ended.
func (o *owners) isOver(owner schedule.Owner) bool {
	switch o.status[owner] {
	case schedule.Dead:
		return true
	case schedule.Unknown:
		return o.state.LeaseEnded(owner, time.Now())
	}
	return false
}

// endProcesses ends the processes that a dead run may have left for a claim. A worker host does
// so by itself.
func (o *owners) endProcesses(ctx context.Context, c schedule.Claim) {
	if o.conn.Workspaces == nil {
		return
	}
	if err := o.conn.Workspaces.Reclaim(ctx, workspace.Issue{ID: string(c.ID), Identifier: c.Identifier}); err != nil {
		o.log.Warn("the dead run's processes are still there", "issue_id", c.ID, "issue_identifier", c.Identifier, "error", err)
		o.warn(c.Identifier + ": " + err.Error())
	}
}
