package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/tracker"
)

// reconcile performs one round: poll, plan, save the claims, perform. It fails
// only if the run cannot continue.
func (l *loop) reconcile(ctx context.Context) error {
	defer l.owners.endRound()
	l.settings.reload(ctx)
	if now := time.Now(); !now.Before(l.nextPoll) {
		reads, cancel := l.deadline.bound(ctx, now)
		l.poll(reads, now)
		cancel()
	}
	if l.cleaner.found != nil {
		reads, cancel := l.deadline.bound(ctx, time.Now())
		l.cleaner.cleanUp(reads, l.outlook.unavailable)
		cancel()
	}
	for try := range maxConflicts {
		decisions := l.plan(ctx)
		err := l.commit(ctx, decisions)
		switch {
		case err == nil:
			if len(l.fleet.assigned) > 0 {
				l.fleet.saved, l.partial = true, true
			}
			l.perform(ctx, decisions)
			l.conversations.answerOrders(ctx)
			l.conversations.tellOfParked(ctx)
			l.display.noteBudget(time.Now())
			l.display.noteRound(time.Now())
			l.display.refresh()
			return nil
		case !errors.Is(err, store.ErrConflict):
			return l.handleSaveError(err)
		}
		l.Log.Info("another run was faster: planning again", "try", try+1)
		if err := l.keeper.yield(ctx); err != nil {
			return l.handleSaveError(err)
		}
		l.adopt(ctx)
	}
	return l.handleSaveError(fmt.Errorf("save claims: %w %d times in a row: lower the number of runs that share this state", store.ErrConflict, maxConflicts))
}

// handleSaveError decides whether a failed save ends the run. A service keeps its
// sessions, starts nothing, and tries again at the next poll.
func (l *loop) handleSaveError(err error) error {
	if l.Once {
		return err
	}
	l.Log.Error("state not saved: nothing was started", "error", err)
	l.replace(progress.State, err.Error()) // the text before may have named another file
	l.display.refresh()
	return nil
}

// plan returns the decisions of a round. If it would start sessions on old knowledge it reads
// those issues and plans again. One read serves all issues that start in the round, and those
// that will start before the knowledge is old again. If that fails it lists the candidates
// again, and leaves out the issues that it still does not know.
func (l *loop) plan(ctx context.Context) []schedule.Decision {
	reads, cancel := l.deadline.bound(ctx, time.Now())
	defer cancel()
	l.relist(reads, time.Now())
	relisted := false
	for {
		now := time.Now()
		snap, policy := l.outlook.snapshot(now), l.policy()
		decisions := l.fleet.spread(schedule.Plan(l.state, snap, policy, now))
		starting := startsOf(decisions)
		if len(starting) > 0 && l.Fleet == nil && !l.files.ready(ctx, decisions) {
			continue // now there is a reason why nothing starts
		}
		unknown := l.issues.stale(starting, now)
		switch {
		case len(unknown) == 0:
			return decisions
		case l.issues.unread == nil:
		case !relisted && !l.fleet.isShard(): // the list may answer although the ids do not
			relisted = true
			l.issues.listCandidates(reads)
			continue
		default:
			for _, id := range unknown {
				l.issues.unasked[id] = true
			}
			continue
		}
		// Expect as many sessions to end soon as ended lately; the slots of some are free already.
		policy.MaxConcurrent += max(0, len(lately(l.running.exits, now))-len(starting))
		soon := startsOf(schedule.Plan(l.state, snap, policy, now))
		if err := l.issues.readByID(reads, l.issues.stale(soon, now)); err != nil {
			l.issues.unasking("re-read the issues that are about to start", err)
		}
	}
}

func startsOf(decisions []schedule.Decision) []tracker.ID {
	var ids []tracker.ID
	for _, d := range decisions {
		if d.Action == schedule.Dispatch {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// commit applies the decisions to the state and saves it. If it fails the state
// is unchanged, and nothing may be performed.
func (l *loop) commit(ctx context.Context, decisions []schedule.Decision) error {
	before, acted := l.state.Clone(), l.tick.Acted
	now := time.Now()
	starts := false
	for _, d := range decisions {
		l.state.Apply(d, now)
		starts = starts || d.Action == schedule.Dispatch
		if d.Action != schedule.Observe { // people are not told of an observation
			l.tick.Acted++
		}
	}
	if l.Once && l.running.count() == 0 && !starts {
		l.remember(now) // this may be the last save of the tick
	}
	news := l.notifier.mark(now, decisions, false, nil)
	err := l.keeper.save(ctx)
	if err != nil {
		l.state, l.tick.Acted = before, acted
		return err
	}
	l.notifier.deliver(news)
	if !l.Once {
		l.died = "" // it is told; with a single tick it is news until the end
	}
	return nil
}

// adopt takes over the claims of dead runs. An interrupted run adopts nothing:
// the next run does.
func (l *loop) adopt(ctx context.Context) {
	l.owners.askAll(ctx)
	if ctx.Err() != nil {
		return
	}
	if !l.tick.DryRun {
		l.collector.settleLeft(ctx)
	}
	for _, a := range l.state.Adopt(l.owners.status, l.policy(), time.Now()) {
		if !l.owners.adopted[a.ID] { // a save that met a conflict adopts it again
			l.owners.adopted[a.ID] = true
			l.noteAdopted(a)
			if !l.tick.DryRun {
				l.owners.endProcesses(ctx, a.Claim)
			}
		}
	}
}
