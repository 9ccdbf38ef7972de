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

// cleanUp removes the workspaces of issues that reached a terminal state while
// nobody looked, once in a run (SPEC §8.6). Claimed issues are not its business:
// their plan cleans up. The issues with a workspace are read by id, instead of
// every closed issue there ever was, and apart from the claims: whatever comes of
// it, the run goes on.
func (l *loop) cleanUp(ctx context.Context) {
	if l.cleaned || l.unread != nil {
		return // done, or the tracker cannot be read: at the next poll
	}
	l.cleaned = true
	known, unknown, err := l.conn.Workspaces.Issues()
	if err != nil {
		l.warnError("startup cleanup", err)
		return
	}
	left := make(map[tracker.ID]workspace.Issue, len(known))
	for _, issue := range known {
		if _, claimed := l.state.Claims[tracker.ID(issue.ID)]; !claimed {
			left[tracker.ID(issue.ID)] = issue
		}
	}
	switch err := l.refresh(ctx, slices.Sorted(maps.Keys(left))); {
	case err == nil:
		l.clean(left)
	case l.waits(time.Now()):
		l.cleaned = false // the tracker asks to wait: at the next poll
		return
	default:
		l.warnError("startup cleanup", err)
	}
	if len(unknown) > 0 {
		l.cleanUnknown(ctx, unknown)
	}
}

// clean removes the workspaces of those issues that are known to be terminal.
func (l *loop) clean(left map[tracker.ID]workspace.Issue) {
	for id, issue := range left {
		known := l.issues.issues[id]
		if known != nil && l.policy().IneligibleToContinue(*known).Reason == schedule.Terminal {
			l.remove(issue)
		}
	}
}

// cleanUnknown does the same for workspaces of which only the key is known: their
// issues are looked for by state.
func (l *loop) cleanUnknown(ctx context.Context, keys []string) {
	issues, err := l.byState(ctx, l.policy().TerminalStates)
	if err != nil {
		l.warnError("startup cleanup", err)
	}
	for _, issue := range issues {
		if slices.Contains(keys, workspace.Key(issue.Identifier)) {
			l.remove(workspace.Issue{ID: string(issue.ID), Identifier: issue.Identifier})
		}
	}
}

// remove deletes the workspace of a terminal issue, beside the loop: its
// before_remove hook may take a while. Until then the issue is not started.
func (l *loop) remove(issue workspace.Issue) {
	id := tracker.ID(issue.ID)
	ctx, cancel := context.WithCancelCause(context.Background())
	l.cleaning[id] = cancel
	workspaces := l.conn.Workspaces
	l.wg.Go(func() {
		defer cancel(nil)
		hook, err := workspaces.Remove(ctx, issue)
		if err == nil {
			err = attempt.Forget(l.SessionDir, issue.Identifier)
		}
		l.inbox <- removed{id, issue.Identifier, hook, err}
	})
}

// removed is the end of a workspace.
type removed struct {
	id         tracker.ID
	identifier string
	hook       error // the failure of before_remove, which the removal goes on without
	err        error
}

func (m removed) in(l *loop) {
	delete(l.cleaning, m.id)
	log := l.Log.With("issue_id", m.id, "issue_identifier", m.identifier)
	if m.hook != nil { // logged where it ran
		l.warn(fmt.Sprintf("%s: %v", m.identifier, m.hook))
	}
	if m.err != nil {
		log.Warn("workspace not removed", "error", m.err)
		l.warn(fmt.Sprintf("%s: workspace not removed: %v", m.identifier, m.err))
	} else {
		log.Info("workspace removed")
	}
	_, claimed := l.state.Claims[m.id]
	if claimed || l.issues.candidate(m.id) >= 0 { // it waited for this
		l.replan = true
	}
}
