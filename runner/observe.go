package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// poll reads what every claim's issue looks like now, and the candidates while
// there is room for any (SPEC §8.1). A failed read leaves what was known.
func (l *loop) poll(ctx context.Context, now time.Time) {
	l.nextPoll = now.Add(l.wf.Settings.Poll)
	if !l.Once {
		l.state.NewTick()
		l.gate = attempt.NewGate()
	}
	l.unread = nil
	l.state.Renew(now)
	ids := slices.Collect(maps.Keys(l.state.Claims))
	left := l.leftovers()
	for id := range left {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if err := l.refresh(ctx, ids); err != nil {
		l.unreadable("refresh claimed issues", err)
	} else {
		l.clean(left)
	}
	l.cleanUnknown(ctx)
	if !l.view.listed() || l.room(now) {
		l.list(ctx)
	}
}

// room reports whether any candidate could be started now.
func (l *loop) room(now time.Time) bool {
	return schedule.Room(l.state, l.snapshot(now), l.policy(), now)
}

// relist reads the candidates again when one could be started and the list is
// older than a poll: while every slot was taken, more urgent issues may have
// come. A list that decides an order is therefore at most one poll old.
func (l *loop) relist(ctx context.Context, now time.Time) {
	if l.view.listed() && now.Sub(l.view.listedAt) > l.wf.Settings.Poll && l.room(now) {
		l.list(ctx)
	}
}

// list reads the candidates.
func (l *loop) list(ctx context.Context) {
	issues, err := l.world.Tracker.IssuesByState(ctx, l.policy().ActiveStates)
	if err != nil {
		l.unreadable("list candidates", err)
		return
	}
	l.view.list(issues, time.Now())
}

// refresh reads issues by id. Either all are known afterwards or none is.
func (l *loop) refresh(ctx context.Context, ids []tracker.ID) error {
	if len(ids) == 0 {
		return nil
	}
	issues, err := l.world.Tracker.IssuesByID(ctx, ids)
	if err != nil {
		return err
	}
	l.view.refresh(ids, issues, time.Now())
	return nil
}

// unreadable takes in that the tracker could not be read: what runs goes on,
// nothing starts until a poll succeeds (SPEC §11.4).
func (l *loop) unreadable(what string, err error) {
	l.unread = fmt.Errorf("%s: %w", what, err)
	l.tick.Errors = append(l.tick.Errors, l.unread.Error())
	l.Log.Error("tracker not read: nothing starts until it can be", "operation", what, "error", err)
}

// leftovers are the issues that have a workspace and no claim, asked for once in
// a run (SPEC §8.6): the ids are read with those of the claims, instead of every
// closed issue there ever was. Workspaces whose issue nobody wrote down are
// looked for by state.
func (l *loop) leftovers() map[tracker.ID]workspace.Issue {
	if l.cleaned {
		return nil
	}
	l.cleaned = true
	known, unknown, err := l.world.Workspaces.Issues()
	if err != nil {
		l.survived("startup cleanup", err)
		return nil
	}
	left := make(map[tracker.ID]workspace.Issue, len(known))
	for _, issue := range known {
		if _, claimed := l.state.Claims[tracker.ID(issue.ID)]; !claimed {
			left[tracker.ID(issue.ID)] = issue
		}
	}
	l.unknown = unknown
	return left
}

// clean removes the workspaces of issues that reached a terminal state while
// nobody looked. Claimed issues are not its business: their plan cleans up.
func (l *loop) clean(left map[tracker.ID]workspace.Issue) {
	for id, issue := range left {
		known := l.view.issues[id]
		if known != nil && l.policy().Continues(*known).Reason == schedule.Terminal {
			l.remove(issue)
		}
	}
}

// cleanUnknown does the same for workspaces of which only the key is known.
func (l *loop) cleanUnknown(ctx context.Context) {
	if len(l.unknown) == 0 {
		return
	}
	issues, err := l.world.Tracker.IssuesByState(ctx, l.policy().TerminalStates)
	if err != nil {
		l.survived("startup cleanup", err)
	}
	for _, issue := range issues {
		if slices.Contains(l.unknown, workspace.Key(issue.Identifier)) {
			l.remove(workspace.Issue{ID: string(issue.ID), Identifier: issue.Identifier})
		}
	}
	l.unknown = nil
}

// survived takes in a failure that the run goes on without.
func (l *loop) survived(what string, err error) {
	l.warn(fmt.Sprintf("%s: %v", what, err))
	l.Log.Warn(what+" failed: going on without it", "error", err)
}
