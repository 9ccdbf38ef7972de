package runner

import (
	"context"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
)

// adopt takes over what dead runs left. An interrupted run adopts nothing: that
// is for the next one.
func (l *loop) adopt(ctx context.Context) {
	l.askOwners(ctx)
	if ctx.Err() != nil {
		return
	}
	for _, c := range l.state.Adopt(l.owners, l.policy(), time.Now()) {
		if !l.adoptedIDs[c.ID] { // a save that meets a conflict takes it over again
			l.adoptedIDs[c.ID] = true
			l.adopted(ctx, c)
		}
	}
}

// askOwners finds out which owners of claims are alive: each once in a pass, however
// often its save conflicts, and all of them in bounded time. Of those that it
// cannot askOwners in that time the lease decides.
func (l *loop) askOwners(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if !l.startBy.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, l.startBy)
		defer cancel()
	}
	for _, owner := range l.state.Orphans() {
		if _, asked := l.owners[owner]; !asked && ctx.Err() == nil {
			l.owners[owner] = l.OwnerStatus(ctx, owner)
		}
	}
}

// adopted ends what the dead run may have left running for a claim of its own.
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
