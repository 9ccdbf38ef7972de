package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/tracker"
)

// unsaved is what happened to our sessions since the state was last saved. When
// another run has saved in between, its state is loaded and the unsaved is
// carried into it; decisions are not: they are made anew.
type unsaved struct {
	exits      []func(*schedule.State)
	heartbeats map[tracker.ID]attempt.Update // of each session that still runs, all of them merged
}

func newUnsaved() unsaved { return unsaved{heartbeats: map[tracker.ID]attempt.Update{}} }

// heartbeat records a sign of life.
func (l *loop) heartbeat(id tracker.ID, u attempt.Update) {
	l.state.Heartbeat(id, u.Update, u.At)
	l.unsaved.heartbeats[id] = u.Merge(l.unsaved.heartbeats[id])
}

// recordExit records the end of a session.
func (l *loop) recordExit(id tracker.ID, o schedule.Outcome, at time.Time) schedule.Next {
	p := l.policy()
	delete(l.unsaved.heartbeats, id)
	l.unsaved.exits = append(l.unsaved.exits, func(s *schedule.State) {
		p.Setup, p.Salt = l.setup, l.salt // those of s
		s.Exit(id, o, p, at)
	})
	return l.state.Exit(id, o, p, at)
}

// reclassify judges the end of a session beside the others of the tick. Failures that
// turn out to be everyone's are taken back from the issues that were charged.
func (l *loop) reclassify(id tracker.ID, o schedule.Outcome, at time.Time) schedule.Outcome {
	o, excused := l.state.Reclassify(id, o)
	for _, before := range excused {
		excuse := func(s *schedule.State) { s.Excuse(before, o.Why, at) }
		l.unsaved.exits = append(l.unsaved.exits, excuse)
		if !l.state.Excuse(before, o.Why, at) {
			continue
		}
		row := l.tick.Row(before.ID)
		row.Class, row.Why = o.Class, o.Why
		row.Next = schedule.Next{Phase: schedule.Waiting, Why: schedule.Why{Reason: schedule.NotDue, Detail: o.Why}, Due: at}
		l.tick.Parked = slices.DeleteFunc(l.tick.Parked, func(parked tracker.ID) bool { return parked == before.ID })
	}
	return o
}

// load reads the state and takes it over.
func (l *loop) load(ctx context.Context) error {
	state, rev, err := l.Store.Load(ctx)
	if err == nil {
		l.adoptState(state, rev)
	}
	return err
}

// reread takes over what others have saved since: an operator, or another run.
// What it cannot read a save cannot replace either, so that is where it fails.
func (l *loop) reread(ctx context.Context) {
	state, rev, err := l.Store.Load(ctx)
	switch {
	case err != nil:
		l.Log.Warn("state not read again: going on with what is known", "error", err)
	case rev != l.rev:
		l.Log.Info("taking over what another process saved")
		l.issues.doubtAll()
		l.adoptState(state, rev)
	}
}

// adoptState carries the journal into a state that was read, and stops the sessions
// whose claims another run has taken.
func (l *loop) adoptState(state *schedule.State, rev store.Revision) {
	state.Self = l.Self
	if wrong := state.BoundTimes(l.policy(), time.Now()); len(wrong) > 0 {
		text := fmt.Sprintf("the state holds times that no run can have written: it was edited, or a clock is wrong; usual times count instead of: %s",
			strings.Join(wrong[:min(len(wrong), 5)], ", "))
		l.warn(text)
		l.Log.Warn(text)
	}
	l.updateSetup(state)
	for _, exit := range l.unsaved.exits {
		exit(state)
	}
	for id, u := range l.unsaved.heartbeats {
		state.Heartbeat(id, u.Update, u.At)
	}
	if l.state != nil {
		state.CarryOverTick(l.state) // the journal is in it already
	}
	l.state, l.rev = state, rev
	l.takeWait()
	for id, c := range state.Claims {
		if c.Owner == l.Self && l.workers[id] == nil {
			state.Requeue(id, time.Now()) // saved after all, though we were told otherwise
		}
	}
	for id, w := range l.workers {
		if c, claimed := state.Claims[id]; !claimed || c.Owner != l.Self {
			w.cancel(schedule.StopError(schedule.ClaimLost))
		}
	}
}

// save makes the state durable; the journal then begins anew.
func (l *loop) save(ctx context.Context) error {
	l.keepWait()
	rev, err := l.Store.Save(ctx, l.state, l.rev)
	if err != nil {
		return err
	}
	if rev != l.rev { // a store may leave what is not worth a write to the next one
		l.rev, l.unsaved = rev, newUnsaved()
	}
	return nil
}

// saveLast closes the state of a run. Another run may have saved meanwhile: what
// ours did is carried into its state.
func (l *loop) saveLast(ctx context.Context) error {
	for range maxConflicts {
		l.remember(time.Now())
		err := l.save(ctx)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		if err := l.yield(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("close the state: %w %d times in a row: lower the number of runs that share it", store.ErrConflict, maxConflicts)
}
