package linear

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/shurcooL/graphql"
	"github.com/symphony-runner/symphony/tracker"
)

// reader is the adapter's half that the orchestrator talks to.
type reader struct {
	cfg     Config
	wire    wire
	api     *graphql.Client
	log     *slog.Logger
	checked atomic.Bool // the scope is known to be right
}

func (r *reader) query(ctx context.Context, op string, into any, variables map[string]any) error {
	if err := r.api.Query(ctx, into, variables); err != nil {
		return r.wire.failed(op, err)
	}
	return nil
}

func (r *reader) IssuesByState(ctx context.Context, states []string) ([]tracker.Issue, error) {
	wanted := normalStates(states)
	if len(wanted) == 0 || r.narrowed(wanted) && slices.Contains(r.cfg.RequiredLabels, "") {
		return nil, nil // a blank label is one that no issue carries
	}
	const op = "list Linear issues"
	filter := r.listFilter(wanted)
	fetch := func(after *graphql.String) (page[issueNode], error) {
		variables := map[string]any{"filter": filter, "after": after}
		if after == nil && !r.checked.Load() {
			var first firstQuery
			variables["projectSlug"] = graphql.String(r.cfg.ProjectSlug)
			err := r.query(ctx, op, &first, variables)
			if err == nil {
				err = r.judge(ctx, op, first.Projects)
			}
			return first.Issues, err
		}
		var answer listQuery
		err := r.query(ctx, op, &answer, variables)
		return answer.Issues, err
	}
	nodes, err := all(op, fetch)
	if err != nil {
		return nil, err
	}
	var issues []tracker.Issue
	listed := make(map[string]bool, len(nodes))
	for _, node := range nodes {
		// Pages are read one after the other, so an issue may be on two of them.
		if node.Trashed || listed[node.ID] {
			continue
		}
		listed[node.ID] = true
		issue, err := r.issue(ctx, node)
		if err != nil {
			return nil, err
		}
		if missing := issue.Missing(); len(missing) > 0 {
			r.log.Warn("linear issue dropped", "issue_id", node.ID, "issue_identifier", node.Identifier, "missing", missing)
			continue
		}
		// Linear's idea of the same letters may be wider than the program's.
		if slices.Contains(wanted, tracker.NormalState(issue.State)) {
			issues = append(issues, issue)
		}
	}
	return issues, nil
}

func (r *reader) IssuesByID(ctx context.Context, ids []tracker.ID) ([]tracker.Issue, error) {
	asked := distinct(ids)
	found := make(map[string]tracker.Issue, len(asked))
	for batch := range slices.Chunk(asked, pageSize) {
		const op = "read Linear issues"
		nodes, err := all(op, func(after *graphql.String) (page[issueNode], error) {
			var answer readQuery
			err := r.query(ctx, op, &answer, readVariables(r.cfg.ProjectSlug, batch, after))
			return answer.Issues, err
		})
		if err != nil {
			return nil, err
		}
		for _, node := range nodes {
			if node.Trashed {
				continue
			}
			issue, err := r.issue(ctx, node)
			if err != nil {
				return nil, err
			}
			if missing := issue.Missing(); len(missing) > 0 {
				return nil, fmt.Errorf("%s: %w: issue %q has no %s: mend it in Linear",
					op, tracker.ErrResponse, node.Identifier, strings.Join(missing, " and no "))
			}
			found[node.ID] = issue
		}
	}
	var issues []tracker.Issue
	for _, id := range asked {
		if issue, ok := found[id]; ok {
			issues = append(issues, issue)
		}
	}
	return issues, nil
}

// normalStates are the states in the form in which they are compared, each once.
func normalStates(states []string) []string {
	var normal []string
	for _, state := range states {
		if state = tracker.NormalState(state); state != "" && !slices.Contains(normal, state) {
			normal = append(normal, state)
		}
	}
	return normal
}

func distinct(ids []tracker.ID) []string {
	var list []string
	seen := make(map[tracker.ID]bool, len(ids))
	for _, id := range ids {
		if id != "" && !seen[id] {
			seen[id] = true
			list = append(list, string(id))
		}
	}
	return list
}
