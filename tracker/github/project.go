package github

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/shurcooL/graphql"

	"github.com/symphony-runner/symphony/internal/parallel"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// projectQuery asks for the board (a Projects v2 project) and for the status of
// issues on it.
type projectQuery struct {
	RepositoryOwner *struct {
		Owner struct {
			ProjectV2 *struct {
				ID     string
				Fields struct {
					Nodes []*struct {
						Field projectField `graphql:"... on ProjectV2SingleSelectField"`
					}
				} `graphql:"fields(first: 100)"`
			} `graphql:"projectV2(number: $number)"`
		} `graphql:"... on ProjectV2Owner"`
	} `graphql:"repositoryOwner(login: $owner)"`
	Nodes []*struct {
		Issue struct {
			ID           string
			ProjectItems struct {
				PageInfo struct{ HasNextPage bool }
				Nodes    []*struct {
					ID               string
					Project          struct{ ID string }
					FieldValueByName *struct {
						Value struct{ Name string } `graphql:"... on ProjectV2ItemFieldSingleSelectValue"`
					} `graphql:"fieldValueByName(name: $field)"`
				}
			} `graphql:"projectItems(first: 50, includeArchived: false)"`
		} `graphql:"... on Issue"`
	} `graphql:"nodes(ids: $ids)"`
}

type projectField struct {
	ID      string
	Name    string
	Options []struct{ ID, Name string }
}

type projectStatus struct {
	item    string // node id of the issue's place on the board; "" when it is not there
	name    string // "" for none
	unknown error  // reason why that is not known
}

// projectStatuses returns the status of each open record by node id. Without a board
// it returns nil and sends no request. A move on the board changes no ETag, so this
// takes one request for each 100 open issues.
func (r *repository) projectStatuses(ctx context.Context, records []*record) (map[string]projectStatus, error) {
	if !r.states.onProject {
		return nil, nil
	}
	var ids []string
	for _, rec := range records {
		if rec.isOpen() {
			ids = append(ids, rec.GetNodeID())
		}
	}
	if len(ids) == 0 && r.projectChecked.Load() {
		return nil, nil
	}
	chunks := slices.Collect(slices.Chunk(ids, maxNodes))
	if len(chunks) == 0 {
		chunks = [][]string{{}} // ids of issues whose place on the board is checked
	}
	parts := make([]map[string]projectStatus, len(chunks))
	err := parallel.Each(ctx, requestsAtOnce, chunks, func(ctx context.Context, i int, chunk []string) error {
		data, err := r.readProject(ctx, chunk)
		if err == nil {
			parts[i] = data.statuses(chunk)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	r.projectChecked.Store(true)
	all := make(map[string]projectStatus, len(ids))
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all, nil
}

// readProject returns the board, which fits the settings, and at most maxNodes issues.
func (r *repository) readProject(ctx context.Context, ids []string) (data projectQuery, err error) {
	p := r.cfg.Project
	op := fmt.Sprintf("read the project %s/%d", p.Owner, p.Number)
	err = r.client.Query(ctx, client.ReadProjects, &data, map[string]any{
		"owner": graphql.String(p.Owner), "number": graphql.Int(p.Number), "field": graphql.String(p.Field), "ids": nodeIDs(ids),
	})
	if err != nil {
		return projectQuery{}, failed(op, err)
	}
	if err := r.checkProject(data); err != nil {
		return projectQuery{}, err
	}
	if len(data.Nodes) != len(ids) {
		return projectQuery{}, fmt.Errorf("%s: %w: %d nodes for %d ids: try again later", op, tracker.ErrResponse, len(data.Nodes), len(ids))
	}
	return data, nil
}

// statuses returns the statuses of the issues that were asked for, by node id. It leaves out
// an issue that GitHub does not return.
func (data projectQuery) statuses(ids []string) map[string]projectStatus {
	found := make(map[string]projectStatus, len(ids))
	for i, node := range data.Nodes {
		if node == nil {
			continue
		}
		var status projectStatus
		items := node.Issue.ProjectItems
		for _, item := range items.Nodes {
			if item != nil && item.Project.ID == data.RepositoryOwner.Owner.ProjectV2.ID {
				status.item = item.ID
				if item.FieldValueByName != nil {
					status.name = item.FieldValueByName.Value.Name
				}
			}
		}
		if status.item == "" && items.PageInfo.HasNextPage {
			found[ids[i]] = projectStatus{unknown: errors.New("it is on more than 50 boards: take it off some")}
			continue
		}
		found[ids[i]] = status
	}
	return found
}

// checkProject returns an error when the board, its field or its options do not fit
// the settings, so that a misspelled name never looks like an empty board.
func (r *repository) checkProject(data projectQuery) error {
	p := r.cfg.Project
	if data.RepositoryOwner == nil {
		return invalid("project.owner", "is %q: there is no such user or organization", p.Owner)
	}
	project := data.RepositoryOwner.Owner.ProjectV2
	if project == nil {
		return invalid("project.number", "is %d: %s has no such project, or the token cannot see it: give it %s (that of a job cannot have it)", p.Number, p.Owner, client.ReadProjects)
	}
	if field, ok := data.field(p.Field); ok {
		return r.checkStatusOptions(field)
	}
	var names []string
	for _, node := range project.Fields.Nodes {
		if node != nil && node.Field.Name != "" { // otherwise it is of another kind
			names = append(names, node.Field.Name)
		}
	}
	return invalid("project.field", "is %q: the single-select fields of the board are %s", p.Field, tracker.QuotedList(names))
}

func (data projectQuery) field(name string) (projectField, bool) {
	for _, node := range data.RepositoryOwner.Owner.ProjectV2.Fields.Nodes {
		if node != nil && node.Field.Name == name {
			return node.Field, true
		}
	}
	return projectField{}, false
}

func (f projectField) names() []string {
	options := make([]string, len(f.Options))
	for i, option := range f.Options {
		options[i] = option.Name
	}
	return options
}

// checkStatusOptions returns an error that names each state of the workflow that the
// board's field does not have.
func (r *repository) checkStatusOptions(field projectField) error {
	options := field.names()
	var problems []error
	for _, missing := range r.cfg.missingStates(options) {
		problems = append(problems, fmt.Errorf("github tracker: %w: %s: %q is not an option of the field %q: the board has %s, "+
			"besides them there are %q (no status) and %q",
			tracker.ErrInvalidConfig, missing.key, missing.state, field.Name, tracker.QuotedList(options), stateOpen, stateClosed))
	}
	return errors.Join(problems...)
}
