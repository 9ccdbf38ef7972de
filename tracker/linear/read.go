package linear

import (
	"context"
	"slices"

	"github.com/shurcooL/graphql"
	"github.com/symphony-runner/symphony/tracker"
)

// IssuesByState implements [tracker.Reader]. The first list also checks the
// settings.
func (r *reader) IssuesByState(ctx context.Context, states []string) ([]tracker.Issue, error) {
	wanted := normalStates(states)
	if len(wanted) == 0 || r.filtersCandidates(wanted) && slices.Contains(r.cfg.RequiredLabels, "") {
		return nil, nil // no issue carries a blank label
	}
	const op = "list Linear issues"
	filter := r.listFilter(wanted)
	fetch := func(after *graphql.String) (page[issueNode], error) {
		variables := map[string]any{"filter": filter, "after": after}
		if after == nil && !r.settingsChecked.Load() {
			var first firstListQuery
			variables["projectSlug"] = graphql.String(r.cfg.ProjectSlug)
			err := r.query(ctx, op, &first, variables)
			if err == nil {
				err = r.checkProject(ctx, op, first.Projects)
			}
			return first.Issues, err
		}
		var answer listQuery
		err := r.query(ctx, op, &answer, variables)
		return answer.Issues, err
	}
	nodes, err := allNodes(op, fetch)
	if err != nil {
		return nil, err
	}
	var issues []tracker.Issue
	var malformed []tracker.Malformed
	understood := 0
	listed := make(map[string]bool, len(nodes))
	for _, node := range nodes {
		// Pages are read one after the other, so an issue may be on two of them.
		if node.Trashed || node.ID != "" && listed[node.ID] {
			continue
		}
		listed[node.ID] = true
		issue, problem, err := r.toIssue(ctx, node)
		if err != nil {
			return nil, err
		}
		if problem != "" {
			malformed = append(malformed, node.malformed(problem))
			continue
		}
		understood++
		// Linear may treat more letters as equal than NormalState does.
		if slices.Contains(wanted, tracker.NormalState(issue.State)) {
			issues = append(issues, issue)
		}
	}
	if err := tracker.ReportDropped(ctx, op, understood, malformed); err != nil {
		return nil, err
	}
	return issues, nil
}

// IssuesByID implements [tracker.Reader] in batches of one page.
func (r *reader) IssuesByID(ctx context.Context, ids []tracker.ID) ([]tracker.Issue, error) {
	const op = "read Linear issues"
	asked := distinctIDs(ids)
	found := make(map[string]tracker.Issue, len(asked))
	malformed := make(map[string]tracker.Malformed)
	nameless := ""
	for batch := range slices.Chunk(asked, pageSize) {
		variables := map[string]any{"projectSlug": graphql.String(r.cfg.ProjectSlug), "first": graphql.Int(len(batch))}
		var ids []graphql.ID
		for _, id := range batch {
			ids = append(ids, id)
		}
		variables["ids"] = ids
		nodes, err := allNodes(op, func(after *graphql.String) (page[issueNode], error) {
			var answer readQuery
			variables["after"] = after
			err := r.query(ctx, op, &answer, variables)
			return answer.Issues, err
		})
		if err != nil {
			return nil, err
		}
		for _, node := range nodes {
			if node.Trashed {
				continue
			}
			issue, problem, err := r.toIssue(ctx, node)
			switch {
			case err != nil:
				return nil, err
			case problem == "":
				found[node.ID] = issue
			case node.ID == "":
				nameless = problem
			default:
				malformed[node.ID] = node.malformed(problem)
			}
		}
	}
	var issues []tracker.Issue
	var records []tracker.Malformed
	for _, id := range asked {
		if issue, ok := found[id]; ok {
			issues = append(issues, issue)
		} else if m, ok := malformed[id]; ok {
			records = append(records, m)
		} else if nameless != "" { // a record without an id may belong to any issue that was not found
			records = append(records, issueNode{ID: id}.malformed(nameless))
		}
	}
	if records != nil {
		return nil, &tracker.MalformedError{Op: op, Records: records}
	}
	return issues, nil
}

func normalStates(states []string) []string {
	var normal []string
	for _, state := range states {
		if state = tracker.NormalState(state); state != "" && !slices.Contains(normal, state) {
			normal = append(normal, state)
		}
	}
	return normal
}

func distinctIDs(ids []tracker.ID) []string {
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
