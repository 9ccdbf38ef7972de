package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// maxConflicts bounds how often a save is tried again because another run saved
// first; conflictPause bounds the random pause before each try, which separates
// runs that collide.
const maxConflicts, conflictPause = 20, 100 * time.Millisecond

// reconcile performs one round: poll, plan, save the claims, perform. It fails
// only if the run cannot continue.
func (l *loop) reconcile(ctx context.Context) error {
	defer l.owners.endRound()
	l.reload(ctx)
	if now := time.Now(); !now.Before(l.nextPoll) {
		reads, cancel := l.deadline.bound(ctx, now)
		l.poll(reads, now)
		cancel()
	}
	for try := range maxConflicts {
		decisions := l.plan(ctx)
		err := l.commit(ctx, decisions)
		switch {
		case err == nil:
			if len(l.assigned.shards) > 0 {
				l.assigned.saved, l.partial = true, true
			}
			l.perform(ctx, decisions)
			l.talks.answerOrders(ctx)
			l.talks.speakOfParked(ctx)
			l.noteBudget(time.Now())
			l.noteRound(time.Now())
			l.progress()
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

// yield loads what a faster run has saved. That run may have changed the issues,
// so none is started before it is read again.
func (l *loop) yield(ctx context.Context) error {
	select {
	case <-time.After(rand.N(conflictPause)):
	case <-ctx.Done():
	}
	l.issues.doubtAll()
	return l.load(ctx)
}

// handleSaveError decides whether a failed save ends the run. A service keeps its
// sessions, starts nothing, and tries again at the next poll.
func (l *loop) handleSaveError(err error) error {
	if l.Once {
		return err
	}
	l.Log.Error("state not saved: nothing was started", "error", err)
	l.replace(progress.State, err.Error()) // the text before may have named another file
	l.progress()
	return nil
}

// reload reads WORKFLOW.md again (SPEC §6.2). After a bad edit the last good
// version stays in force, and nothing is dispatched until the file is fixed.
func (l *loop) reload(ctx context.Context) {
	wf, err := l.Workflows.Current()
	if err == nil && !reflect.DeepEqual(wf, l.wf) {
		if err = l.apply(ctx, wf); err == nil {
			l.nextPoll = time.Now() // the new settings count at once, a shorter interval too
			l.resumeIfChanged(time.Now())
		}
	}
	if err == nil {
		l.bad, l.badText = schedule.Why{}, ""
		l.resolve(progress.Workflow)
		return
	}
	text := inOneLine(err)
	l.bad = schedule.Why{Reason: schedule.OnHold, Detail: "WORKFLOW.md is invalid: " + text}
	if text != l.badText {
		l.badText = text
		l.problem(progress.Workflow, text)
		l.Log.Error("workflow is invalid: nothing new starts until it is fixed", "error", err)
	}
}

// inOneLine returns an error with a problem in each of its lines, such as
// [workflow.Problems], as one sentence for places that have no lines.
func inOneLine(err error) string {
	text := ""
	for line := range strings.Lines(err.Error()) {
		switch line = strings.TrimSpace(line); {
		case text == "" || line == "":
			text += line
		case strings.HasSuffix(text, ":"):
			text += " " + line
		default:
			text += "; " + line
		}
	}
	return text
}

// apply puts a workflow into force and connects again if its settings changed. It
// refuses a prompt that cannot be rendered for any issue: otherwise each session
// would fail, and every issue would be charged.
func (l *loop) apply(ctx context.Context, wf workflow.Workflow) error {
	if err := prompt.Check(wf.Prompt, wf.PromptLine); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(wf.Path), err)
	}
	if l.conn.Workspaces == nil || !reflect.DeepEqual(wf.Settings, l.wf.Settings) {
		if err := l.connect(ctx, wf); err != nil {
			return err
		}
	}
	l.wf = wf
	l.tick.Delivers = l.delivers()
	warnings := slices.Concat(wf.Warnings, l.conn.Tracker.Warnings, l.conn.Warnings, wf.Settings.Codex.PostureWarnings(l.Refresh != nil))
	for _, warning := range warnings {
		l.Log.Warn("settings", "warning", warning)
	}
	l.warn(warnings...)
	return nil
}

// connect opens what a workflow names, in place of what the loop had open.
func (l *loop) connect(ctx context.Context, wf workflow.Workflow) error {
	conn, err := l.Connect(ctx, wf)
	if err != nil {
		return err
	}
	if l.conn.Repository != nil && sameRepository(wf.Settings, l.wf.Settings) {
		conn.Repository = l.conn.Repository // whose store is open
	}
	if !reflect.DeepEqual(wf.Settings.Tracker, l.wf.Settings.Tracker) {
		l.issues.limit = new(rateLimit) // the tracker or its credential is another one
		if l.state != nil {
			l.state.Wait = schedule.TrackerWait{}
		}
	}
	conn.Tracker.Reader = limitedReader{conn.Tracker.Reader, l.issues.limit}
	if label := wf.Settings.Feedback.Label; label != "" {
		conn.Tracker.Reader = withoutLabel{conn.Tracker.Reader, tracker.NormalLabel(label)}
	}
	l.conn = conn
	return nil
}

// plan returns the decisions of a round. If it would start sessions on old knowledge it reads
// those issues and plans again. One read serves all issues that start in the
// round, and those that will start before the knowledge is old again. If that fails it
// lists the candidates again, and leaves out what it still does not know.
func (l *loop) plan(ctx context.Context) []schedule.Decision {
	reads, cancel := l.deadline.bound(ctx, time.Now())
	defer cancel()
	l.relist(reads, time.Now())
	relisted := false
	for {
		now := time.Now()
		snap, policy := l.snapshot(now), l.policy()
		decisions := l.spread(schedule.Plan(l.state, snap, policy, now))
		starting := startsOf(decisions)
		if len(starting) > 0 && l.Fleet == nil && !l.files.ready(ctx, decisions) {
			continue // now there is a reason why nothing starts
		}
		unknown := l.issues.stale(starting, fresh, now)
		switch {
		case len(unknown) == 0:
			return decisions
		case l.issues.unread == nil:
		case !relisted && !l.isShard(): // the list may answer although the ids do not
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
		if err := l.issues.readByID(reads, l.issues.stale(soon, fresh, now)); err != nil {
			l.issues.unasking("re-read the issues that are about to start", err)
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

// commit applies the decisions to the state and saves it. If it fails the state
// is unchanged, and nothing may be performed.
func (l *loop) commit(ctx context.Context, decisions []schedule.Decision) error {
	before, acted := l.state.Clone(), l.tick.Acted
	now := time.Now()
	starts := false
	for _, d := range decisions {
		l.state.Apply(d, now)
		starts = starts || d.Action == schedule.Dispatch
		if d.Action != schedule.Observe { // which people are not told
			l.tick.Acted++
		}
	}
	if l.Once && l.running.count() == 0 && !starts {
		l.remember(now) // this may be the last save of the tick
	}
	err := l.save(ctx)
	if err != nil {
		l.state, l.tick.Acted = before, acted
	}
	return err
}
