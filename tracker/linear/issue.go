package linear

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shurcooL/graphql"
	"github.com/symphony-runner/symphony/tracker"
)

// blocksRelation is the type of a relation whose first issue blocks the second one.
const blocksRelation = "blocks"

// toIssue returns the normalized issue (SPEC §11.3) with all its labels and blockers. It reads
// the labels and blockers that are not on the first page. malformed is the fault of a record
// that is not a valid issue, and "" otherwise.
func (r *reader) toIssue(ctx context.Context, node issueNode) (issue tracker.Issue, malformed string, err error) {
	// The first pages of labels and blockers are part of the record.
	if _, err := node.Labels.nextCursor(); err != nil {
		return tracker.Issue{}, fmt.Sprintf("its labels: %v", err), nil
	}
	if _, err := node.InverseRelations.nextCursor(); err != nil {
		return tracker.Issue{}, fmt.Sprintf("its blockers: %v", err), nil
	}
	labels, err := r.readLabels(ctx, node)
	if err != nil {
		return tracker.Issue{}, "", err
	}
	relations, err := r.readRelations(ctx, node)
	if err != nil {
		return tracker.Issue{}, "", err
	}
	issue = tracker.Issue{
		ID:          tracker.ID(withoutNUL(node.ID)),
		Identifier:  withoutNUL(node.Identifier),
		Title:       withoutNUL(node.Title),
		Description: withoutNUL(node.Description),
		Priority:    priority(node.Priority),
		State:       withoutNUL(node.State.Name),
		BranchName:  withoutNUL(node.BranchName),
		URL:         withoutNUL(node.URL),
		Labels:      normalLabels(labels),
		BlockedBy:   toBlockers(relations),
		NativeRef:   map[string]string{"id": withoutNUL(node.ID), "team_id": withoutNUL(node.Team.ID), "team_key": withoutNUL(node.Team.Key)},
		CreatedAt:   parseTime(node.CreatedAt),
		UpdatedAt:   parseTime(node.UpdatedAt),

		HasAttachments: len(node.Attachments.Nodes) > 0,
	}
	if node.Assignee != nil {
		issue.AssigneeID = withoutNUL(node.Assignee.ID)
	}
	issue.WhyNot = r.cfg.assigneeDenial(node.Assignee)
	issue.Dispatchable = issue.WhyNot == ""
	if missing := issue.MissingFields(); len(missing) > 0 {
		malformed = "it has no " + strings.Join(missing, " and no ") + ": fix it in Linear"
	}
	return issue, malformed, nil
}

func (n issueNode) malformed(why string) tracker.Malformed {
	m := tracker.Malformed{ID: tracker.ID(withoutNUL(n.ID)), Identifier: withoutNUL(n.Identifier), Reason: why}
	if strings.TrimSpace(m.Identifier) == "" {
		m.Identifier = string(m.ID)
	}
	return m
}

// readLabels returns all labels of an issue. It and [reader.readRelations] differ in
// the type of their answer, which is the query.
func (r *reader) readLabels(ctx context.Context, node issueNode) ([]labelNode, error) {
	op := "read the labels of Linear issue " + r.wire.Quote(node.Identifier)
	return remainingNodes(op, node.Labels, func(after *graphql.String) (page[labelNode], error) {
		var answer labelsQuery
		err := r.query(ctx, op, &answer, map[string]any{"id": graphql.String(node.ID), "after": after})
		return answer.Issue.Labels, err
	})
}

// readRelations returns all relations in which an issue is the second one.
func (r *reader) readRelations(ctx context.Context, node issueNode) ([]relationNode, error) {
	op := "read the blockers of Linear issue " + r.wire.Quote(node.Identifier)
	return remainingNodes(op, node.InverseRelations, func(after *graphql.String) (page[relationNode], error) {
		var answer relationsQuery
		err := r.query(ctx, op, &answer, map[string]any{"id": graphql.String(node.ID), "after": after})
		return answer.Issue.InverseRelations, err
	})
}

func normalLabels(nodes []labelNode) []string {
	var labels []string
	for _, node := range nodes {
		if label := tracker.NormalLabel(withoutNUL(node.Name)); label != "" && !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	return labels
}

func toBlockers(relations []relationNode) []tracker.Blocker {
	var list []tracker.Blocker
	for _, relation := range relations {
		if relation.Type == blocksRelation {
			other := relation.Issue
			list = append(list, tracker.Blocker{
				ID: tracker.ID(withoutNUL(other.ID)), Identifier: withoutNUL(other.Identifier), State: withoutNUL(other.State.Name),
			})
		}
	}
	return list
}

// priority returns Linear's number from 1 to 4, or nil for 0, which means no
// priority.
func priority(p float64) *int {
	if p < 1 || p > math.MaxInt32 || p != math.Trunc(p) {
		return nil
	}
	return new(int(p))
}

// withoutNUL returns s with U+FFFD for NUL, which other parts of the program cannot
// pass on. The JSON decoder has already replaced invalid UTF-8.
func withoutNUL(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }

// parseTime reads a time in ISO 8601. It returns the zero time for any other text.
func parseTime(s string) time.Time {
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}
