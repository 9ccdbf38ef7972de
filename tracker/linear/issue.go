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

// blocks is the type of the relations that hold an issue up.
const blocks = "blocks"

// issue normalises a record (SPEC §11.3), complete with the labels and blockers
// that did not fit into it, or says what is wrong with a malformed one.
func (r *reader) issue(ctx context.Context, node issueNode) (issue tracker.Issue, malformed string, err error) {
	// Its own first pages are part of the record; those after them are requests.
	if _, err := node.Labels.after(); err != nil {
		return tracker.Issue{}, fmt.Sprintf("its labels: %v", err), nil
	}
	if _, err := node.InverseRelations.after(); err != nil {
		return tracker.Issue{}, fmt.Sprintf("its blockers: %v", err), nil
	}
	labels, err := r.labels(ctx, node)
	if err != nil {
		return tracker.Issue{}, "", err
	}
	relations, err := r.relations(ctx, node)
	if err != nil {
		return tracker.Issue{}, "", err
	}
	issue = tracker.Issue{
		ID:          tracker.ID(text(node.ID)),
		Identifier:  text(node.Identifier),
		Title:       text(node.Title),
		Description: text(node.Description),
		Priority:    priority(node.Priority),
		State:       text(node.State.Name),
		BranchName:  text(node.BranchName),
		URL:         text(node.URL),
		Labels:      labelNames(labels),
		BlockedBy:   blockers(relations),
		NativeRef:   map[string]string{"id": text(node.ID), "team_id": text(node.Team.ID), "team_key": text(node.Team.Key)},
		CreatedAt:   instant(node.CreatedAt),
		UpdatedAt:   instant(node.UpdatedAt),
	}
	if node.Assignee != nil {
		issue.AssigneeID = text(node.Assignee.ID)
	}
	issue.Dispatchable, issue.Why = r.cfg.takes(node.Assignee)
	if missing := issue.Missing(); len(missing) > 0 {
		malformed = "it has no " + strings.Join(missing, " and no ") + ": fix it in Linear"
	}
	return issue, malformed, nil
}

// malformed returns the record as one that is malformed for a reason.
func (n issueNode) malformed(why string) tracker.Malformed {
	m := tracker.Malformed{ID: tracker.ID(text(n.ID)), Identifier: text(n.Identifier), Why: why}
	if strings.TrimSpace(m.Identifier) == "" {
		m.Identifier = string(m.ID)
	}
	return m
}

func (r *reader) labels(ctx context.Context, node issueNode) ([]labelNode, error) {
	op := "read the labels of Linear issue " + r.wire.mask.quote(node.Identifier)
	return rest(op, node.Labels, func(after *graphql.String) (page[labelNode], error) {
		var answer labelsQuery
		err := r.query(ctx, op, &answer, map[string]any{"id": graphql.String(node.ID), "after": after})
		return answer.Issue.Labels, err
	})
}

func (r *reader) relations(ctx context.Context, node issueNode) ([]relationNode, error) {
	op := "read the blockers of Linear issue " + r.wire.mask.quote(node.Identifier)
	return rest(op, node.InverseRelations, func(after *graphql.String) (page[relationNode], error) {
		var answer relationsQuery
		err := r.query(ctx, op, &answer, map[string]any{"id": graphql.String(node.ID), "after": after})
		return answer.Issue.InverseRelations, err
	})
}

// labelNames returns the labels, lower case and trimmed, each once.
func labelNames(nodes []labelNode) []string {
	var labels []string
	for _, node := range nodes {
		if label := tracker.NormalLabel(text(node.Name)); label != "" && !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	return labels
}

func blockers(relations []relationNode) []tracker.Blocker {
	var list []tracker.Blocker
	for _, relation := range relations {
		if relation.Type == blocks {
			other := relation.Issue
			list = append(list, tracker.Blocker{
				ID: tracker.ID(text(other.ID)), Identifier: text(other.Identifier), State: text(other.State.Name),
			})
		}
	}
	return list
}

// priority returns Linear's number from 1 to 4, or nil for 0, which means none.
func priority(p float64) *int {
	if p < 1 || p > math.MaxInt32 || p != math.Trunc(p) {
		return nil
	}
	return new(int(p))
}

// text returns what a person wrote without NUL, which no other part of the program
// could pass on. It is valid UTF-8 already, as the JSON decoder leaves it.
func text(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }

// instant reads a time in ISO 8601. It returns the zero time for any other text.
func instant(s string) time.Time {
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}
