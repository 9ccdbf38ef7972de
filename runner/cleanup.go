package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

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

	searched bool                // the search for workspaces has begun, or is not ours
	found    []placeFound        // its result that is not used yet; nil for none
	removing map[tracker.ID]bool // issues whose workspaces are being removed
}

// places returns the machines with workspaces, and their names as hosts, without those that are left
// alone. The name of this machine is empty.
func (c *cleaner) places() (Places, []string) {
	if c.conn.Hosts == nil {
		return here{c.conn.Workspaces, c.sessionDir}, []string{""}
	}
	down := c.state.Hosts.Down(c.policy().Hosts, time.Now())
	return c.conn.Hosts, slices.DeleteFunc(slices.Clone(c.wf.Settings.Worker.Hosts), func(name string) bool {
		return slices.ContainsFunc(down, func(h schedule.DownHost) bool { return h.Name == name })
	})
}

// lookTime bounds the search for workspaces on one host.
const lookTime = time.Minute

// search begins the startup cleanup, once in a run (SPEC §8.6): it looks for workspaces on this
// machine, or on all worker hosts beside the loop, since a host may take long to answer, and removes the session folders
// of issues that have neither a claim nor a delivery. Nothing resumes their threads. Where the
// workspaces are lost with the machine, as on a runner of GitHub, no workspace leads to these
// folders, and a cache keeps them.
func (c *cleaner) search() {
	if c.searched || c.issues.unread != nil {
		return // done, or the tracker cannot be read: try at the next poll
	}
	c.searched = true
	var used []string
	for id := range c.state.Claims {
		used = append(used, workspace.Key(c.nameOf(id)))
	}
	for _, d := range c.state.Deliveries {
		used = append(used, workspace.Key(d.Identifier))
	}
	slices.Sort(used)
	places, names := c.places()
	look := func(ctx context.Context) []placeFound {
		found := make([]placeFound, len(names))
		EachHost(names, func(i int, name string) {
			ctx, cancel := context.WithTimeoutCause(ctx, lookTime, fmt.Errorf("it took longer than %v", lookTime))
			defer cancel()
			found[i].name = name
			if found[i].known, found[i].unknown, found[i].err = places.Issues(ctx, name); found[i].err == nil {
				found[i].unforgotten = places.ForgetUnused(ctx, name, used, time.Now().Add(-unusedFor))
			}
		})
		return found
	}
	if c.conn.Hosts == nil {
		c.take(look(context.Background()))
		return
	}
	c.beginStoppable(context.Background(), func(ctx context.Context) func() {
		found := look(ctx)
		return func() {
			c.take(found)
			c.replan = true
		}
	})
}

// placeFound is the result of a search for workspaces on one machine.
type placeFound struct {
	name        string            // name of the host; empty for this machine
	known       []workspace.Issue // issues that have a workspace
	unknown     []string          // keys of the workspaces whose issue is not known
	err         error             // reason why they could not be listed
	unforgotten error             // reason why old files of sessions were not removed
}

// take takes the result of a search, for the next cleanUp.
func (c *cleaner) take(found []placeFound) {
	c.found = found
	for _, p := range found {
		if p.unforgotten != nil {
			c.log.Warn("old files of sessions were not removed", "worker_host", p.name, "error", p.unforgotten)
		}
		if p.err != nil {
			c.warnError("startup cleanup", p.err)
		}
	}
}

// unusedFor is the time after which the session folders of an issue are removed that the
// state does not know. A session that belongs to another state changes its own in this time.
const unusedFor = 24 * time.Hour

// cleanUp removes the found workspaces of issues that became terminal between runs. The plan
// cleans up claimed issues. cleanUp reads the issues that have a workspace by id, instead of every
// closed issue; a single tick reads some of them. An issue whose pull request is open keeps its
// workspace, whatever its state is, and is not read. cleanUp reads them separately from the
// claims, so that its failures do not affect the run.
func (c *cleaner) cleanUp(ctx context.Context, unavailable func() map[tracker.ID]bool) {
	if c.issues.unread != nil {
		return // try when the tracker can be read
	}
	left := map[tracker.ID]leftWorkspace{}
	unknown := map[string][]string{} // names of hosts by the keys of workspaces
	for _, p := range c.found {
		for _, issue := range p.known {
			id := tracker.ID(issue.ID)
			pull := c.conversations.pull(id)
			if _, claimed := c.state.Claims[id]; !claimed && (pull == nil || pull.State != schedule.PullOpen) {
				left[id] = leftWorkspace{issue, append(left[id].hosts, p.name)}
			}
		}
		for _, key := range p.unknown {
			unknown[key] = append(unknown[key], p.name)
		}
	}
	if c.once {
		keepSome(left, cleanedInATick)
	}
	switch err := c.issues.readByID(ctx, slices.Sorted(maps.Keys(left))); {
	case err == nil:
		c.clean(left, unavailable())
	case c.issues.waits(time.Now()):
		return // the tracker asks to wait: try again after that
	default:
		c.warnError("startup cleanup", err)
	}
	c.found = nil
	if len(unknown) > 0 {
		c.cleanUnknown(ctx, unknown, unavailable)
	}
}

// leftWorkspace describes the workspaces of an issue without a claim.
type leftWorkspace struct {
	issue workspace.Issue
	hosts []string // machines that have one; the name of this machine is empty
}

// cleanedInATick is the number of workspaces without a claim whose issues a single tick
// reads. Work waits in its workspace until a pull request is merged, so there may be
// hundreds, and a tracker may need a request for each.
const cleanedInATick = 20

// keepSome removes issues at random until at most n are left, so that the ticks after one
// another look at all of them.
func keepSome(issues map[tracker.ID]leftWorkspace, n int) {
	ids := slices.Collect(maps.Keys(issues))
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids[min(n, len(ids)):] {
		delete(issues, id)
	}
}

// clean removes the workspaces of the issues that are known to be terminal.
func (c *cleaner) clean(left map[tracker.ID]leftWorkspace, unavailable map[tracker.ID]bool) {
	for id, w := range left {
		known := c.issues.issues[id]
		if known != nil && !unavailable[id] && c.policy().IneligibleToContinue(*known).Reason == schedule.Terminal {
			c.remove(w.issue, w.hosts)
		}
	}
}

// cleanUnknown removes the workspaces of terminal issues of which only the key is
// known. It looks for the issues by state.
func (c *cleaner) cleanUnknown(ctx context.Context, hosts map[string][]string, unavailable func() map[tracker.ID]bool) {
	issues, err := c.issues.listByState(ctx, c.policy().TerminalStates)
	if err != nil {
		c.warnError("startup cleanup", err)
	}
	not := unavailable()
	for _, issue := range issues {
		if on := hosts[workspace.Key(issue.Identifier)]; !not[issue.ID] && len(on) > 0 {
			c.remove(workspace.Issue{ID: string(issue.ID), Identifier: issue.Identifier}, on)
		}
	}
}

// remove starts to delete the workspaces of a terminal issue in the background, on the worker
// hosts that may have one or on this machine, since its before_remove hook may take a while. The
// issue is not started until it has ended.
func (c *cleaner) remove(issue workspace.Issue, hosts []string) {
	places, names := c.places()
	if c.conn.Hosts != nil { // the state may name others, and is written by strangers
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(hosts, name) })
	}
	if len(names) == 0 {
		return
	}
	id := tracker.ID(issue.ID)
	c.removing[id] = true
	logged := tracker.Issue{ID: id, Identifier: issue.Identifier}
	if known := c.issues.issues[id]; known != nil {
		logged = *known
	}
	session := c.logs.sessionOf(logged, time.Now())
	c.beginStoppable(context.Background(), func(ctx context.Context) func() {
		var hook, err error
		for _, name := range names {
			failed, kept := places.Remove(ctx, name, issue)
			hook, err = errors.Join(hook, failed), errors.Join(err, kept)
		}
		c.logs.writeRemoval(session, hook, err)
		return func() { c.end(id, issue.Identifier, hook, err) }
	})
}

// end notes that a removal has ended, which package workspace has logged unless it failed. hook is
// the failure of before_remove, which does not stop the removal.
func (c *cleaner) end(id tracker.ID, identifier string, hook, err error) {
	delete(c.removing, id)
	if hook != nil { // already logged where it ran
		c.warn(fmt.Sprintf("%s: %v", identifier, hook))
	}
	if err != nil {
		c.log.Warn("workspace not removed", "issue_id", id, "issue_identifier", identifier, "error", err)
		c.warn(fmt.Sprintf("%s: workspace not removed: %v", identifier, err))
	}
	_, claimed := c.state.Claims[id]
	_, delivered := c.state.Deliveries[id]
	// It waited for this, also a delivery, which may be merged.
	if claimed || delivered || c.issues.candidate(id) >= 0 {
		c.replan = true
	}
}
