package runner

import (
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

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
