package github

import (
	"context"
	"fmt"
	"slices"

	"github.com/symphony-runner/symphony/tracker"
)

const needProjects = "the permission projects: read (the token of an Actions job cannot have it)"

// boardQuery reads the board and the status that issues have on it.
const boardQuery = `query Board($owner: String!, $number: Int!, $field: String!, $ids: [ID!]!) {
  repositoryOwner(login: $owner) {
    ... on ProjectV2Owner {
      projectV2(number: $number) {
        id
        fields(first: 100) { nodes { ... on ProjectV2SingleSelectField { name options { name } } } }
      }
    }
  }
  nodes(ids: $ids) {
    ... on Issue {
      id
      projectItems(first: 50, includeArchived: false) {
        pageInfo { hasNextPage }
        nodes {
          project { id }
          fieldValueByName(name: $field) { ... on ProjectV2ItemFieldSingleSelectValue { name } }
        }
      }
    }
  }
}`

type boardData struct {
	RepositoryOwner *struct {
		ProjectV2 *struct {
			ID     string
			Fields struct{ Nodes []*boardField }
		}
	}
	Nodes []*struct {
		ID           string
		ProjectItems struct {
			PageInfo struct{ HasNextPage bool }
			Nodes    []*struct {
				Project          struct{ ID string }
				FieldValueByName *struct{ Name string }
			}
		}
	}
}

type boardField struct {
	Name    string
	Options []struct{ Name string }
}

// board reads the status of each open record on the board, by node id: "" for
// one that has none. Without a board it is nil, and asks nothing. The board
// does not show in an issue's ETag, so this is one request per 100 open issues.
func (r *repository) board(ctx context.Context, records []*record) (map[string]string, error) {
	if !r.states.board {
		return nil, nil
	}
	var ids []string
	for _, rec := range records {
		if rec.open() {
			ids = append(ids, rec.NodeID)
		}
	}
	r.mu.Lock()
	seen := r.boardSeen
	r.mu.Unlock()
	if len(ids) == 0 && seen {
		return nil, nil
	}
	chunks := slices.Collect(slices.Chunk(ids, maxNodes))
	if len(chunks) == 0 {
		chunks = [][]string{{}} // to check the board
	}
	parts := make([]map[string]string, len(chunks))
	err := together(ctx, len(chunks), func(ctx context.Context, i int) (err error) {
		parts[i], err = r.statuses(ctx, chunks[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.boardSeen = true
	r.mu.Unlock()
	all := make(map[string]string, len(ids))
	for _, part := range parts {
		for id, status := range part {
			all[id] = status
		}
	}
	return all, nil
}

func (r *repository) statuses(ctx context.Context, ids []string) (map[string]string, error) {
	p := r.cfg.Project
	op := fmt.Sprintf("read the project %s/%d", p.Owner, p.Number)
	variables := map[string]any{"owner": p.Owner, "number": p.Number, "field": p.Field, "ids": ids}
	var data boardData
	if err := r.client.query(ctx, op, needProjects, boardQuery, variables, &data); err != nil {
		return nil, err
	}
	if err := r.checkBoard(data); err != nil {
		return nil, err
	}
	if len(data.Nodes) != len(ids) {
		return nil, fmt.Errorf("%s: %w: %d nodes for %d ids: try again later", op, tracker.ErrResponse, len(data.Nodes), len(ids))
	}
	found := make(map[string]string, len(ids))
	for i, node := range data.Nodes {
		if node == nil {
			continue
		}
		status, on := "", false
		for _, item := range node.ProjectItems.Nodes {
			if item != nil && item.Project.ID == data.RepositoryOwner.ProjectV2.ID {
				on = true
				if item.FieldValueByName != nil {
					status = item.FieldValueByName.Name
				}
			}
		}
		if !on && node.ProjectItems.PageInfo.HasNextPage {
			return nil, fmt.Errorf("%s: %w: the issue %q is on more than 50 boards: take it off some", op, tracker.ErrPagination, ids[i])
		}
		found[ids[i]] = status
	}
	return found, nil
}

// checkBoard refuses a board that does not fit the workflow, so that a misspelt
// name never looks like an empty board.
func (r *repository) checkBoard(data boardData) error {
	p := r.cfg.Project
	if data.RepositoryOwner == nil {
		return invalid("project.owner", "is %q: there is no such user or organisation", p.Owner)
	}
	project := data.RepositoryOwner.ProjectV2
	if project == nil {
		return invalid("project.number", "is %d: %s has no such project, or the token cannot see it: give it %s", p.Number, p.Owner, needProjects)
	}
	var names []string
	for _, field := range project.Fields.Nodes {
		if field != nil && field.Name == p.Field {
			return r.checkOptions(*field)
		}
		if field != nil && field.Name != "" {
			names = append(names, field.Name)
		}
	}
	return invalid("project.field", "is %q: the single-select fields of the board are %q", p.Field, names)
}

func (r *repository) checkOptions(field boardField) error {
	var options []string
	allowed := map[string]bool{stateOpen: true, stateClosed: true}
	for _, option := range field.Options {
		options = append(options, option.Name)
		allowed[tracker.NormalState(option.Name)] = true
	}
	for key, names := range map[string][]string{"active": r.cfg.Active, "terminal": r.cfg.Terminal} {
		for _, name := range names {
			if !allowed[tracker.NormalState(name)] {
				return fmt.Errorf("github tracker: %w: tracker.%s_states: %q is not an option of the field %q: the board has %q, "+
					"besides them there are %q (no status) and %q",
					tracker.ErrInvalidConfig, key, name, field.Name, options, stateOpen, stateClosed)
			}
		}
	}
	return nil
}
