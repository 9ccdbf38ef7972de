package prompt

import (
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// bindings returns the variables of a template: SPEC §5.4's two, the facts about the
// run, and the literals that the engine does not know. They are the schema as well,
// see [schema].
func bindings(issue tracker.Issue, run Run) map[string]any {
	return map[string]any{
		"issue":    fields(issue),
		"attempt":  orNull(run.Attempt),
		"run":      map[string]any{"resumed": run.Resumed, "workspace_kept": run.WorkspaceKept},
		"feedback": feedbackFields(run.Feedback),
		"null":     nil,
		"blank":    blank,
		"empty":    empty,
	}
}

func fields(issue tracker.Issue) map[string]any {
	labels := make([]any, len(issue.Labels))
	for i, label := range issue.Labels {
		labels[i] = label
	}
	blockers := make([]any, len(issue.BlockedBy))
	for i, b := range issue.BlockedBy {
		blockers[i] = map[string]any{
			"id":         orNull(string(b.ID)),
			"identifier": orNull(b.Identifier),
			"state":      orNull(b.State),
		}
	}
	// Nil pointers and empty maps are true in Liquid; null is false.
	var priority, ref any
	if issue.Priority != nil {
		priority = *issue.Priority
	}
	if len(issue.NativeRef) > 0 {
		ref = issue.NativeRef
	}
	return map[string]any{
		"id":           string(issue.ID),
		"identifier":   issue.Identifier,
		"title":        issue.Title,
		"description":  orNull(issue.Description),
		"priority":     priority,
		"state":        issue.State,
		"branch_name":  orNull(issue.BranchName),
		"url":          orNull(issue.URL),
		"assignee_id":  orNull(issue.AssigneeID),
		"labels":       labels,
		"blocked_by":   blockers,
		"native_ref":   ref,
		"created_at":   timestamp(issue.CreatedAt),
		"updated_at":   timestamp(issue.UpdatedAt),
		"dispatchable": issue.Dispatchable,
	}
}

// orNull returns v, or null when v is the zero value (SPEC §4.1.1).
func orNull[T comparable](v T) any {
	if v == *new(T) {
		return nil
	}
	return v
}

// timestamp returns a time as text that prints as it is, sorts in order and can
// be given to the filter date. The engine's own form of a time can do none of these.
func timestamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}
