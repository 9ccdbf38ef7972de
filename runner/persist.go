package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/tracker"
)

// unsaved holds the changes since the state was last saved. If
// another run has saved in between, its state is loaded and unsaved is applied to
// it. Decisions are not: they are made again.
type unsaved struct {
	changes    []schedule.Change
	heartbeats map[tracker.ID]attempt.Update // the merged updates of each session that still runs
}

func newUnsaved() unsaved { return unsaved{heartbeats: map[tracker.ID]attempt.Update{}} }

func (u *unsaved) add(c schedule.Change) { u.changes = append(u.changes, c) }

func (l *ledger) heartbeat(id tracker.ID, u attempt.Update) {
	l.state.Heartbeat(id, u.Update, u.At)
	l.unsaved.heartbeats[id] = u.Merge(l.unsaved.heartbeats[id])
}

func (l *loop) recordExit(id tracker.ID, o schedule.Outcome, at time.Time) schedule.Next {
	delete(l.unsaved.heartbeats, id)
	l.unsaved.add(schedule.SessionEnded{ID: id, Session: l.state.Claims[id].Sessions, Outcome: o, At: at})
	return l.state.Exit(id, o, l.policy(), at)
}

// reclassify classifies the end of a session in the light of the others of the
// tick. Failures that turn out to be systemic are no longer charged to their
// issues.
func (l *loop) reclassify(id tracker.ID, o schedule.Outcome, at time.Time) schedule.Outcome {
	o, charged := l.state.Reclassify(id, o)
	for _, f := range charged {
		l.unsaved.add(schedule.Excused{Before: f.Before, Why: o.Why, At: at})
		if l.state.Excuse(f.Before, o.Why, at) {
			l.reportExcused(f.Before.ID)
		}
	}
	return o
}

// load reads the state and adopts it.
func (l *loop) load(ctx context.Context) error {
	state, rev, err := l.Store.Load(ctx)
	if err == nil {
		l.adoptState(state, rev)
	}
	return err
}

// reread takes over the changes that an operator or another run has saved since. It ignores a
// failed read: a state that cannot be read cannot be replaced either, so the next save fails.
func (l *loop) reread(ctx context.Context) {
	state, rev, err := l.Store.Load(ctx)
	switch {
	case err != nil:
		l.Log.Warn("state could not be read again: continuing with what is known", "error", err)
	case rev != l.rev:
		l.Log.Info("taking over what another process saved")
		l.issues.doubtAll()
		l.adoptState(state, rev)
	}
}

// adoptState makes a state that was read the state of the loop. It applies the unsaved changes
// to it, and stops the sessions whose claims are no longer ours.
func (l *loop) adoptState(state *schedule.State, rev store.Revision) {
	state.Self = l.Self
	state.StartConversations(time.Now())
	if wrong := state.BoundTimes(l.policy(), time.Now()); len(wrong) > 0 {
		text := fmt.Sprintf("the state holds times that no run can have written: it was edited, or a clock is wrong; usual times count instead of: %s",
			strings.Join(wrong[:min(len(wrong), 5)], ", "))
		l.warn(text)
		l.Log.Warn(text)
	}
	l.setup.update(state)
	for _, c := range l.unsaved.changes {
		c.Apply(state, l.policy())
	}
	for id, u := range l.unsaved.heartbeats {
		state.Heartbeat(id, u.Update, u.At)
	}
	if l.state != nil {
		state.CarryOverTick(l.state) // the unsaved changes are in it already
	}
	for _, id := range l.running.lose(state) {
		delete(l.unsaved.heartbeats, id)
	}
	l.takeBack(state)
	l.state, l.rev = state, rev
	l.issues.takeWait()
}

// unavailable returns the issues that no plan may touch: their workspaces are being removed,
// a session that lost its claim has not ended, or nobody knows how they are now.
func (l *loop) unavailable() map[tracker.ID]bool {
	ids := make(map[tracker.ID]bool, len(l.cleaner.removing)+len(l.running.lost))
	for id := range l.cleaner.removing {
		ids[id] = true
	}
	for w := range l.running.lost {
		ids[w.id] = true
	}
	maps.Copy(ids, l.issues.unasked)
	return ids
}

// takeBack takes back the Dispatches that a save has stored although it reported a failure:
// their sessions were not started, and no shard knows of them.
func (l *loop) takeBack(state *schedule.State) {
	for id, c := range state.Claims {
		if c.Owner == l.Self && l.running.owned[id] == nil {
			state.Requeue(id, time.Now())
			l.pollSoon()
		}
	}
	l.fleet.takeBack(state)
}

// save makes the state durable and clears the unsaved changes.
func (l *loop) save(ctx context.Context) error {
	l.issues.keepWait()
	rev, err := l.Store.Save(ctx, l.state, l.rev)
	if err != nil {
		return err
	}
	l.resolve(progress.State)
	if rev != l.rev { // a store may postpone changes that are not worth a write
		l.rev, l.unsaved = rev, newUnsaved()
	}
	return nil
}

// saveLast saves the state at the end of a run, with the error that ends the run or nil, and
// tells the destinations of notices what is news. An interrupted run leaves that to the next one.
func (l *loop) saveLast(ctx context.Context, failure error) error {
	var news []telling
	err := l.saveOver(ctx, "close the state", func() error {
		l.remember(time.Now())
		if !errors.Is(failure, schedule.ErrInterrupted) {
			news = l.notifier.mark(time.Now(), nil, true, failure)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if l.notifier.flush(news) {
		if err := l.saveOver(ctx, "note who was not told", func() error { return nil }); err != nil {
			l.Log.Warn("it is not noted which destinations were not told: the next run does not tell them", "error", err)
		}
	}
	return nil
}

// saveClaimed saves the state for a session in progress. It fails if another run has
// taken the claim.
func (l *loop) saveClaimed(ctx context.Context, id tracker.ID) error {
	return l.saveOver(ctx, "save the state", func() error {
		if l.state.Claims[id].Owner != l.Self {
			return schedule.StopError(schedule.ClaimLost)
		}
		return nil
	})
}

// saveOver saves the state. If another run saves at the same time, it applies our
// changes to that state and tries again. Before each save it calls before, which may
// fail.
func (l *loop) saveOver(ctx context.Context, what string, before func() error) error {
	for range maxConflicts {
		if err := before(); err != nil {
			return err
		}
		err := l.save(ctx)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		if err := l.yield(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w %d times in a row: lower the number of runs that share it", what, store.ErrConflict, maxConflicts)
}
