package publish

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/tracker/github/client"
)

// decorate adds the labels, people and teams that a pull request lacks. Each failure is a
// warning.
func (p *Publisher) decorate(ctx context.Context, pull *client.PullRequest) (warnings []string) {
	number := pull.GetNumber()
	var hasLabels, hasAssignees []string
	for _, label := range pull.Labels {
		hasLabels = append(hasLabels, label.GetName())
	}
	for _, person := range pull.Assignees {
		hasAssignees = append(hasAssignees, person.GetLogin())
	}
	labels, assignees := lacking(hasLabels, p.Pull.Labels), lacking(hasAssignees, p.Pull.Assignees)
	if len(labels) > 0 && len(assignees) > 0 {
		// One request replaces both lists, so it also has their present entries. GitHub refuses
		// the whole request for one wrong name; then each list is added, and fails, by itself.
		if p.GitHub.Pulls.SetLabelsAndAssignees(ctx, number, append(hasLabels, labels...), append(hasAssignees, assignees...)) == nil {
			labels, assignees = nil, nil
		}
	}
	for _, part := range []struct {
		what  string
		names []string
		add   func(context.Context, int, []string) error
	}{
		{"labels", labels, p.GitHub.Pulls.AddLabels},
		{"assignees", assignees, p.GitHub.Pulls.AddAssignees},
		{"reviewers", p.Pull.Reviewers, p.GitHub.Pulls.RequestReviewers},
	} {
		if len(part.names) == 0 {
			continue
		}
		if err := part.add(ctx, number, part.names); err != nil {
			warnings = append(warnings, fmt.Sprintf("pull request #%d has not got its %s (%s): %v", number, part.what, strings.Join(part.names, ", "), err))
		}
	}
	return warnings
}

// lacking returns the names that are not in a list, in any case: on GitHub, labels and
// logins that differ only in case are the same.
func lacking(list, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(list, func(has string) bool { return strings.EqualFold(has, name) })
	})
}
