package runner

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// cleaner removes workspaces, and the files of sessions that nothing needs.
type cleaner struct {
	*core
	issues        *issueReader
	conversations *conversations
	logs          *eventLogs
	sessionDir    string // SessionDir of [Runner]
	once          bool

	cleaned  bool                                   // startup cleanup has begun, or is not ours
	removing map[tracker.ID]context.CancelCauseFunc // the removals in progress
}

// cleanUp removes the workspaces of issues that became terminal between runs,
// once in a run (SPEC §8.6). The plan cleans up claimed issues. cleanUp reads the
// issues that have a workspace by id, instead of every closed issue; a single tick reads
// some of them. An issue whose pull request is open keeps its workspace, whatever its state
// is, and is not read. cleanUp reads them separately from the claims, so that its failures do not
// affect the run.
func (c *cleaner) cleanUp(ctx context.Context, unavailable func() map[tracker.ID]bool) {
	if c.cleaned || c.issues.unread != nil {
		return // done, or the tracker cannot be read: try at the next poll
	}
	c.cleaned = true
	c.forgetUnused()
	known, unknown, err := c.conn.Workspaces.Issues()
	if err != nil {
		c.warnError("startup cleanup", err)
		return
	}
	left := make(map[tracker.ID]workspace.Issue, len(known))
	for _, issue := range known {
		id := tracker.ID(issue.ID)
		pull := c.conversations.pull(id)
		if _, claimed := c.state.Claims[id]; !claimed && (pull == nil || pull.State != schedule.PullOpen) {
			left[id] = issue
		}
	}
	if c.once {
		keepSome(left, cleanedInATick)
	}
	switch err := c.issues.readByID(ctx, slices.Sorted(maps.Keys(left))); {
	case err == nil:
		c.clean(left, unavailable())
	case c.issues.waits(time.Now()):
		c.cleaned = false // the tracker asks to wait: try at the next poll
		return
	default:
		c.warnError("startup cleanup", err)
	}
	if len(unknown) > 0 {
		c.cleanUnknown(ctx, unknown, unavailable)
	}
}

// cleanedInATick is the number of workspaces without a claim whose issues a single tick
// reads. Work waits in its workspace until a pull request is merged, so there may be
// hundreds, and a tracker may need a request for each.
const cleanedInATick = 20

// keepSome removes issues at random until at most n are left, so that the ticks after one
// another look at all of them.
func keepSome(issues map[tracker.ID]workspace.Issue, n int) {
	ids := slices.Collect(maps.Keys(issues))
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids[min(n, len(ids)):] {
		delete(issues, id)
	}
}

// unusedFor is the time after which the session folders of an issue are removed that the
// state does not know. A session that belongs to another state changes its own in this time.
const unusedFor = 24 * time.Hour

// forgetUnused removes the session folders of issues that have neither a claim nor a
// delivery: nothing resumes their threads. Where the workspaces are lost with the machine,
// as on a runner of GitHub, no workspace leads to these folders, and a cache keeps them.
func (c *cleaner) forgetUnused() {
	used := make(map[string]bool, len(c.state.Claims)+len(c.state.Deliveries))
	for id := range c.state.Claims {
		used[workspace.Key(c.nameOf(id))] = true
	}
	for _, d := range c.state.Deliveries {
		used[workspace.Key(d.Identifier)] = true
	}
	if err := attempt.ForgetUnused(c.sessionDir, func(key string) bool { return used[key] }, time.Now().Add(-unusedFor)); err != nil {
		c.log.Warn("old files of sessions were not removed", "error", err)
	}
}

// clean removes the workspaces of the issues that are known to be terminal.
func (c *cleaner) clean(left map[tracker.ID]workspace.Issue, unavailable map[tracker.ID]bool) {
	for id, issue := range left {
		known := c.issues.issues[id]
		if known != nil && !unavailable[id] && c.policy().IneligibleToContinue(*known).Reason == schedule.Terminal {
			c.remove(issue)
		}
	}
}

// cleanUnknown removes the workspaces of terminal issues of which only the key is
// known. It looks for the issues by state.
func (c *cleaner) cleanUnknown(ctx context.Context, keys []string, unavailable func() map[tracker.ID]bool) {
	issues, err := c.issues.listByState(ctx, c.policy().TerminalStates)
	if err != nil {
		c.warnError("startup cleanup", err)
	}
	not := unavailable()
	for _, issue := range issues {
		if !not[issue.ID] && slices.Contains(keys, workspace.Key(issue.Identifier)) {
			c.remove(workspace.Issue{ID: string(issue.ID), Identifier: issue.Identifier})
		}
	}
}

// remove starts to delete the workspace of a terminal issue in the background,
// since its before_remove hook may take a while. The issue is not started until
// it has ended.
func (c *cleaner) remove(issue workspace.Issue) {
	id := tracker.ID(issue.ID)
	ctx, cancel := context.WithCancelCause(context.Background())
	c.removing[id] = cancel
	workspaces := c.conn.Workspaces
	logged := tracker.Issue{ID: id, Identifier: issue.Identifier}
	if known := c.issues.issues[id]; known != nil {
		logged = *known
	}
	session := c.logs.sessionOf(logged, time.Now())
	c.wg.Go(func() {
		defer cancel(nil)
		hook, err := workspaces.Remove(ctx, issue)
		if err == nil {
			err = attempt.Forget(c.sessionDir, issue.Identifier)
		}
		c.logs.writeRemoval(session, hook, err)
		c.send(removed{id, issue.Identifier, hook, err})
	})
}

// removed is the message that the removal of a workspace has ended. Package workspace
// has logged it, unless it failed.
type removed struct {
	id         tracker.ID
	identifier string
	hook       error // the failure of before_remove, which does not stop the removal
	err        error
}

func (m removed) applyTo(l *loop) { l.cleaner.end(m) }

// end notes that a removal has ended.
func (c *cleaner) end(m removed) {
	delete(c.removing, m.id)
	if m.hook != nil { // already logged where it ran
		c.warn(fmt.Sprintf("%s: %v", m.identifier, m.hook))
	}
	if m.err != nil {
		c.log.Warn("workspace not removed", "issue_id", m.id, "issue_identifier", m.identifier, "error", m.err)
		c.warn(fmt.Sprintf("%s: workspace not removed: %v", m.identifier, m.err))
	}
	_, claimed := c.state.Claims[m.id]
	_, delivered := c.state.Deliveries[m.id]
	// It waited for this, also a delivery, which may be merged.
	if claimed || delivered || c.issues.candidate(m.id) >= 0 {
		c.replan = true
	}
}
