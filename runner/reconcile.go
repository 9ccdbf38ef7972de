package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// maxConflicts is how often a save is tried again because another run was faster,
// and meanwhile the longest pause before each try, so that they get out of step.
const maxConflicts, conflictPause = 20, 100 * time.Millisecond

// reconcile is one round: observe, plan, save the claims, perform. It fails only
// when the run cannot go on.
func (l *loop) reconcile(ctx context.Context) error {
	defer func() { clear(l.owners); clear(l.adoptedIDs) }()
	l.reload()
	if now := time.Now(); !now.Before(l.nextPoll) {
		l.poll(ctx, now)
	}
	for try := range maxConflicts {
		decisions := l.plan(ctx)
		err := l.commit(ctx, decisions)
		switch {
		case err == nil:
			l.perform(decisions)
			return nil
		case !errors.Is(err, store.ErrConflict):
			return l.handleSaveError(err)
		}
		l.Log.Info("another run was faster: planning again", "try", try+1)
		if err := l.yield(ctx); err != nil {
			return l.handleSaveError(err)
		}
		l.adopt(ctx)
	}
	return l.handleSaveError(fmt.Errorf("save claims: %w %d times in a row: lower the number of runs that share this state", store.ErrConflict, maxConflicts))
}

// yield takes over what a faster run has saved. What that run did to the issues
// is not known: none is started before it is read again.
func (l *loop) yield(ctx context.Context) error {
	select {
	case <-time.After(rand.N(conflictPause)):
	case <-ctx.Done():
	}
	l.issues.doubtAll()
	return l.load(ctx)
}

// handleSaveError decides whether a failed save ends the run. A service goes on with
// what runs, starts nothing, and tries again at the next poll.
func (l *loop) handleSaveError(err error) error {
	if l.Once {
		return err
	}
	l.Log.Error("state not saved: nothing was started", "error", err)
	return nil
}

// reload re-reads WORKFLOW.md (SPEC §6.2). A bad edit keeps the last good one,
// and blocks dispatch until it is mended.
func (l *loop) reload() {
	wf, err := l.Workflows.Current()
	if err == nil && !reflect.DeepEqual(wf, l.wf) {
		if err = l.apply(wf); err == nil {
			l.resumeIfChanged(time.Now())
		}
	}
	if err == nil {
		l.bad, l.badText = schedule.Why{}, ""
		l.resolve(workflowInvalid)
		return
	}
	l.bad = schedule.Why{Reason: schedule.OnHold, Detail: "WORKFLOW.md is invalid: " + err.Error()}
	if text := err.Error(); text != l.badText {
		l.badText = text
		l.problem(workflowInvalid, text)
		l.Log.Error("workflow is invalid: nothing new starts until it is mended", "error", err)
	}
}

// apply takes a workflow into force, connecting again where it needs to. A prompt
// that can be rendered for no issue is refused here, once: found by each session
// alone it would be charged to every issue of the board.
func (l *loop) apply(wf workflow.Workflow) error {
	if err := prompt.Check(wf.Prompt); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(wf.Path), err)
	}
	if l.conn.Workspaces == nil || !reflect.DeepEqual(wf.Settings, l.wf.Settings) {
		world, err := l.Connect(wf)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(wf.Settings.Tracker, l.wf.Settings.Tracker) {
			l.limit = new(rateLimit) // of another tracker, or another credential
			if l.state != nil {
				l.state.Wait = schedule.TrackerWait{}
			}
		}
		world.Tracker.Reader = limitedReader{world.Tracker.Reader, l.limit}
		l.conn = world
	}
	l.wf = wf
	warnings := slices.Concat(wf.Warnings, l.conn.Tracker.Warnings, l.conn.Warnings, wf.Settings.Codex.PostureWarnings())
	for _, warning := range warnings {
		l.Log.Warn("settings", "warning", warning)
	}
	l.warn(warnings...)
	return nil
}

// plan decides what to do. What it would start on old knowledge is read again
// first, and decided anew: one read serves all that start in the pass, and those
// that will start before its knowledge is old too.
func (l *loop) plan(ctx context.Context) []schedule.Decision {
	l.relist(ctx, time.Now())
	for {
		now := time.Now()
		snap, policy := l.snapshot(now), l.policy()
		decisions := schedule.Plan(l.state, snap, policy, now)
		starting := startsOf(decisions)
		if len(l.issues.stale(starting, fresh, now)) == 0 {
			return decisions
		}
		// As many slots become free as in the time before, of which some are free now.
		policy.MaxConcurrent += max(0, len(lately(l.exits, now))-len(starting))
		soon := startsOf(schedule.Plan(l.state, snap, policy, now))
		if err := l.refresh(ctx, l.issues.stale(soon, fresh, now)); err != nil {
			l.unreadable("re-read the issues that are about to start", err)
		}
	}
}

// startsOf returns the issues on which decisions start sessions.
func startsOf(decisions []schedule.Decision) []tracker.ID {
	var ids []tracker.ID
	for _, d := range decisions {
		if d.Action == schedule.Dispatch {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// lately returns those of the times, oldest first, since which what was read is fresh.
func lately(times []time.Time, now time.Time) []time.Time {
	for len(times) > 0 && now.Sub(times[0]) > fresh {
		times = times[1:]
	}
	return times
}

// commit makes the decisions true in the state and saves it. When it fails the
// state is as before, and nothing may be performed.
func (l *loop) commit(ctx context.Context, decisions []schedule.Decision) error {
	before, acted := l.state.Clone(), l.tick.Acted
	now := time.Now()
	starts := false
	for _, d := range decisions {
		l.state.Apply(d, now)
		starts = starts || d.Action == schedule.Dispatch
	}
	l.tick.Acted += len(decisions)
	if l.Once && len(l.workers) == 0 && !starts {
		l.remember(now) // this may be the last save of the tick
	}
	err := l.save(ctx)
	if err != nil {
		l.state, l.tick.Acted = before, acted
	}
	return err
}
