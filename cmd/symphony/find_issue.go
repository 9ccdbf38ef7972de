package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/lookup"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// matchIssue returns the known issue that a person means by a name; see [lookup.Match]. The
// workflow may be invalid: then the name may be of any kind of tracker.
func matchIssue(wf workflow.Workflow, name string, known []lookup.Issue) (lookup.Issue, bool) {
	return lookup.Match(trackerConfigs(wf), name, known)
}

// unknownIssueError returns the error for a name that none of the known issues has; see
// [lookup.Unknown].
func unknownIssueError(missing, name, kind string, known []lookup.Issue) error {
	return fmt.Errorf("%w: %w", wiring.ErrUsage, lookup.Unknown(missing, name, kind, known))
}

// trackerConfigs returns the settings of the workflow's tracker, or empty settings of
// every kind if the workflow is invalid.
func trackerConfigs(wf workflow.Workflow) []tracker.Config {
	if cfg := wf.Settings.Tracker.Config; cfg != nil {
		return []tracker.Config{cfg}
	}
	var all []tracker.Config
	for _, kind := range wiring.Trackers() {
		all = append(all, kind.New())
	}
	return all
}

// findIssue returns the issue that a person means by a name: one that the state knows, or
// else one that the tracker finds, in whatever state it is. If there is no such issue,
// the error suggests the issues with a claim and the candidates.
func findIssue(ctx context.Context, wf workflow.Workflow, adapter tracker.Adapter, state schedule.Issues, name string) (tracker.Issue, error) {
	known := lookup.InState(state)
	n, ok := matchIssue(wf, name, known)
	if !ok {
		id, err := adapter.Find(ctx, name)
		if err != nil {
			return tracker.Issue{}, err
		}
		n.ID = id
	}
	issues, err := adapter.IssuesByID(ctx, slices.DeleteFunc([]tracker.ID{n.ID}, func(id tracker.ID) bool { return id == "" }))
	if err != nil {
		return tracker.Issue{}, err
	}
	if len(issues) == 1 {
		return issues[0], nil
	}
	if candidates, err := adapter.IssuesByState(ctx, wf.Settings.Policy.ActiveStates); err == nil { // only for suggestions
		for _, issue := range candidates {
			known = append(known, lookup.Issue{ID: issue.ID, Identifier: issue.Identifier})
		}
	}
	return tracker.Issue{}, unknownIssueError("the "+wf.Settings.Tracker.Kind+" tracker shows no issue", name, "candidates and claims", known)
}
