package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/tracker"
)

// maxConflicts bounds how often a save is tried again because another run saved
// first; conflictPause bounds the random pause before each try, which separates
// runs that collide.
const maxConflicts, conflictPause = 20, 100 * time.Millisecond

// keeper loads the state and makes it durable.
type keeper struct {
	*core
	store   Store
	self    schedule.Owner
	issues  *issueReader
	setup   *setupDigest
	running *sessions
	fleet   *fleetPart
}

// load reads the state and adopts it.
func (k *keeper) load(ctx context.Context) error {
	state, rev, err := k.store.Load(ctx)
	if err == nil {
		k.adoptState(state, rev)
	}
	return err
}

// reread takes over the changes that an operator or another run has saved since. It ignores a
// failed read: a state that cannot be read cannot be replaced either, so the next save fails.
func (k *keeper) reread(ctx context.Context) {
	state, rev, err := k.store.Load(ctx)
	switch {
	case err != nil:
		k.log.Warn("state could not be read again: continuing with what is known", "error", err)
	case rev != k.rev:
		k.log.Info("taking over what another process saved")
		k.issues.doubtAll()
		k.adoptState(state, rev)
	}
}

// adoptState makes a state that was read the state of the loop. It applies the unsaved changes
// to it, and stops the sessions whose claims are no longer ours.
func (k *keeper) adoptState(state *schedule.State, rev store.Revision) {
	state.Self = k.self
	state.StartConversations(time.Now())
	if wrong := state.BoundTimes(k.policy(), time.Now()); len(wrong) > 0 {
		text := fmt.Sprintf("the state holds times that no run can have written: it was edited, or a clock is wrong; usual times count instead of: %s",
			strings.Join(wrong[:min(len(wrong), 5)], ", "))
		k.warn(text)
		k.log.Warn(text)
	}
	k.setup.update(state)
	for _, c := range k.unsaved.changes {
		c.Apply(state, k.policy())
	}
	for id, u := range k.unsaved.heartbeats {
		state.Heartbeat(id, u.Update, u.At)
	}
	if k.state != nil {
		state.CarryOverTick(k.state) // the unsaved changes are in it already
	}
	for _, id := range k.running.lose(state) {
		delete(k.unsaved.heartbeats, id)
	}
	k.takeBack(state)
	k.state, k.rev = state, rev
	k.issues.takeWait()
}

// takeBack takes back the Dispatches that a save has stored although it reported a failure:
// their sessions were not started, and no shard knows of them.
func (k *keeper) takeBack(state *schedule.State) {
	for id, c := range state.Claims {
		if c.Owner == k.self && k.running.owned[id] == nil {
			state.Requeue(id, time.Now())
			k.pollSoon()
		}
	}
	k.fleet.takeBack(state)
}

func (k *keeper) save(ctx context.Context) error {
	k.issues.keepWait()
	rev, err := k.store.Save(ctx, k.state, k.rev)
	if err != nil {
		return err
	}
	k.resolve(progress.State)
	if rev != k.rev { // a store may postpone changes that are not worth a write
		k.rev, k.unsaved = rev, newUnsaved()
	}
	return nil
}

// saveClaimed saves the state for a session in progress. It fails if another run has
// taken the claim.
func (k *keeper) saveClaimed(ctx context.Context, id tracker.ID) error {
	return k.saveOver(ctx, "save the state", func() error {
		if k.state.Claims[id].Owner != k.self {
			return schedule.StopError(schedule.ClaimLost)
		}
		return nil
	})
}

// saveOver saves the state. If another run saves at the same time, it applies our
// changes to that state and tries again. Before each save it calls before, which may
// fail.
func (k *keeper) saveOver(ctx context.Context, what string, before func() error) error {
	for range maxConflicts {
		if err := before(); err != nil {
			return err
		}
		err := k.save(ctx)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		if err := k.yield(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w %d times in a row: lower the number of runs that share it", what, store.ErrConflict, maxConflicts)
}

// yield loads the state that a faster run has saved. That run may have changed the issues, so
// none is started before it is read again.
func (k *keeper) yield(ctx context.Context) error {
	select {
	case <-time.After(rand.N(conflictPause)):
	case <-ctx.Done():
	}
	k.issues.doubtAll()
	return k.load(ctx)
}
