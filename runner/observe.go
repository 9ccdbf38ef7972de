package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

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
	}
	l.unread = nil
	l.state.Renew(now)
	l.startup(ctx)
	if err := l.refresh(ctx, slices.Sorted(maps.Keys(l.state.Claims))); err != nil {
		l.unreadable("refresh claimed issues", err)
	}
	if l.view.listed && !schedule.Room(l.state, l.snapshot(now), l.policy(), now) {
		return
	}
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

// startup removes the workspaces of issues that reached a terminal state while
// nobody looked (SPEC §8.6). Claimed issues are not its business: their plan
// cleans up. It runs once, before the first list, and may fail.
func (l *loop) startup(ctx context.Context) {
	if l.view.listed || l.cleaned {
		return
	}
	l.cleaned = true
	left, err := l.leftovers()
	if err == nil && len(left) > 0 {
		var issues []tracker.Issue
		issues, err = l.world.Tracker.IssuesByState(ctx, l.policy().TerminalStates)
		for _, issue := range issues {
			if left[workspace.Key(issue.Identifier)] {
				l.remove(workspace.Issue{ID: string(issue.ID), Identifier: issue.Identifier})
			}
		}
	}
	if err != nil {
		l.tick.Warnings = append(l.tick.Warnings, fmt.Sprintf("startup cleanup: %v", err))
		l.Log.Warn("startup cleanup failed: going on without it", "error", err)
	}
}

// leftovers are the keys of workspaces that no claim accounts for.
func (l *loop) leftovers() (map[string]bool, error) {
	keys, err := l.world.Workspaces.Keys()
	if err != nil {
		return nil, err
	}
	left := make(map[string]bool, len(keys))
	for _, key := range keys {
		left[key] = true
	}
	for _, c := range l.state.Claims {
		delete(left, workspace.Key(c.Identifier))
	}
	return left, nil
}
