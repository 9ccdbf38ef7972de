package runner

import (
	"context"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
)

// adopt takes over the claims of dead runs. An interrupted run adopts nothing:
// the next run does.
func (l *loop) adopt(ctx context.Context) {
	l.askOwners(ctx)
	if ctx.Err() != nil {
		return
	}
	for _, c := range l.state.Adopt(l.owners, l.policy(), time.Now()) {
		if !l.adoptedIDs[c.ID] { // a save that met a conflict adopts it again
			l.adoptedIDs[c.ID] = true
			l.adopted(ctx, c)
		}
	}
}

// askOwners finds out which owners of claims are alive. It asks about each once
// in a round, however often the save conflicts, and bounds the time for all. The
// lease decides for owners that it could not ask in this time.
func (l *loop) askOwners(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if !l.startBy.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, l.startBy)
		defer cancel()
	}
	var unasked []schedule.Owner
	for _, owner := range l.state.Orphans() {
		if _, asked := l.owners[owner]; !asked {
			unasked = append(unasked, owner)
		}
	}
	if len(unasked) == 0 || ctx.Err() != nil {
		return
	}
	statuses := l.OwnerStatuses(ctx, unasked)
	for _, owner := range unasked {
		l.owners[owner] = statuses[owner]
	}
}

// adopted ends the processes that the dead run may have left for a claim.
func (l *loop) adopted(ctx context.Context, c schedule.Claim) {
	l.tick.Acted++
	log := l.Log.With("issue_id", c.ID, "issue_identifier", c.Identifier)
	log.Warn("adopted", "reason", c.Why, "phase", c.Phase)
	if l.tick.DryRun {
		return
	}
	if err := l.conn.Workspaces.Reclaim(ctx, workspace.Issue{ID: string(c.ID), Identifier: c.Identifier}); err != nil {
		log.Warn("the dead run's processes are still there", "error", err)
		l.warn(c.Identifier + ": " + err.Error())
	}
}
