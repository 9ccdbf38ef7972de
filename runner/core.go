package runner

import (
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// core is shared by the parts of a run. The goroutine of the loop alone uses it, and all of the
// parts, except for the methods of tasks that say otherwise.
type core struct {
	inForce
	ledger
	agenda
	remarks
	tasks
	deadline deadline
}

// ledger holds the state of a run, and the changes that the store does not have yet. The parts
// of the run read the state; they write it only by changes.
type ledger struct {
	state   *schedule.State
	rev     store.Revision
	unsaved unsaved
	policy  func() schedule.Policy // returns the policy in force
}

// change makes a change in the state, and again if another run saves first.
func (l *ledger) change(c schedule.Change) {
	c.Apply(l.state, l.policy())
	l.unsaved.add(c)
}

func (l *ledger) nameOf(id tracker.ID) string {
	if c, claimed := l.state.Claims[id]; claimed && c.Identifier != "" {
		return c.Identifier
	}
	if d, delivered := l.state.Deliveries[id]; delivered && d.Identifier != "" {
		return d.Identifier
	}
	return string(id)
}

// agenda holds the time of the next poll and plan. The parts of the run move it forward.
type agenda struct {
	nextPoll time.Time
	replan   bool // something happened that may change the plan
}

// pollSoon has the next round read the claimed issues, of which some are due.
func (a *agenda) pollSoon() { a.nextPoll, a.replan = time.Now(), true }

// inForce holds the workflow that a run works with, as last read, and its connection.
type inForce struct {
	wf   workflow.Workflow
	conn Connection
}

// delivers reports whether the work on issues is published.
func (f *inForce) delivers() bool {
	return f.wf.Settings.Repository != nil && f.wf.Settings.Delivery.Kind != workflow.KindNone
}

// root returns the folder of the workspaces. On worker hosts it is as WORKFLOW.md has it; empty for
// their default.
func (f *inForce) root() string {
	if f.conn.Workspaces == nil {
		return f.wf.Settings.Worker.Root
	}
	return f.conn.Workspaces.Path()
}

// branchOf returns the branch of an issue, also for a plan, which opens no repository. It is
// zero for a prefix that makes no branch, which package workflow refuses.
func (f *inForce) branchOf(identifier string) git.Branch {
	branch, _ := git.BranchFor(f.wf.Settings.Repository.BranchPrefix, workspace.Key(identifier))
	return branch
}

func (f *inForce) comments() schedule.Comments {
	if f.conn.Feedback == nil {
		return schedule.Comments{}
	}
	return f.conn.Feedback.Where
}

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

func (l *ledger) recordExit(id tracker.ID, o schedule.Outcome, at time.Time) schedule.Next {
	delete(l.unsaved.heartbeats, id)
	l.unsaved.add(schedule.SessionEnded{ID: id, Session: l.state.Claims[id].Sessions, Outcome: o, At: at})
	return l.state.Exit(id, o, l.policy(), at)
}
