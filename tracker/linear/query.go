package linear

import (
	"fmt"

	"github.com/shurcooL/graphql"
	"github.com/symphony-runner/symphony/tracker"
)

// The GraphQL client writes each query from the struct that receives its answer, so
// the two cannot differ. Every field is used, because Linear charges for each field
// times the size of its page. The names of the fields of issues and pages are written
// down: for each request, the client derives the others again.

// listQuery asks for candidates, or for any other list by state (SPEC §11.2).
type listQuery struct {
	Issues page[issueNode] `graphql:"issues(first: 50, after: $after, filter: $filter)"`
}

// firstListQuery asks for the first page of a list and for the project with its
// states, until the settings are known to be right: with a misspelled project or state
// the list would only look empty.
type firstListQuery struct {
	Issues   page[issueNode]   `graphql:"issues(first: 50, after: $after, filter: $filter)"`
	Projects page[projectNode] `graphql:"projects(first: 1, filter: {slugId: {eq: $projectSlug}})"`
}

// readQuery refreshes issues by id (SPEC §11.2). It asks for a page as large as the
// batch, because Linear charges for the page size and not for the answer.
type readQuery struct {
	Issues page[issueNode] `graphql:"issues(first: $first, after: $after, filter: {id: {in: $ids}, project: {slugId: {eq: $projectSlug}}})"`
}

type findQuery struct {
	Issues page[struct {
		ID      string
		Trashed bool
	}] `graphql:"issues(first: 1, filter: $filter)"`
}

type issueNode struct {
	ID               string             `graphql:"id"`
	Identifier       string             `graphql:"identifier"`
	Title            string             `graphql:"title"`
	Description      string             `graphql:"description"`
	Priority         float64            `graphql:"priority"`
	BranchName       string             `graphql:"branchName"`
	URL              string             `graphql:"url"`
	CreatedAt        string             `graphql:"createdAt"`
	UpdatedAt        string             `graphql:"updatedAt"`
	Trashed          bool               `graphql:"trashed"`
	State            stateNode          `graphql:"state"`
	Assignee         *assigneeNode      `graphql:"assignee"`
	Team             teamNode           `graphql:"team"`
	Labels           page[labelNode]    `graphql:"labels(first: 10)"`
	InverseRelations page[relationNode] `graphql:"inverseRelations(first: 5)"`
	Attachments      firstAttachment    `graphql:"attachments(first: 1)"`
}

// firstAttachment shows whether an issue has any attachment.
type firstAttachment struct {
	Nodes []struct {
		ID string `graphql:"id"`
	} `graphql:"nodes"`
}

type stateNode struct {
	Name string `graphql:"name"`
}

type labelNode struct {
	Name string `graphql:"name"`
}

type assigneeNode struct {
	ID   string `graphql:"id"`
	IsMe bool   `graphql:"isMe"`
}

type teamNode struct {
	ID  string `graphql:"id"`
	Key string `graphql:"key"`
}

// relationNode is a relation in which the issue is the second one. The first one
// blocks it, duplicates it, or is related to it.
type relationNode struct {
	Type  string `graphql:"type"`
	Issue struct {
		ID         string    `graphql:"id"`
		Identifier string    `graphql:"identifier"`
		State      stateNode `graphql:"state"`
	} `graphql:"issue"`
}

// labelsQuery asks for the labels of an issue that has more than one page of them.
type labelsQuery struct {
	Issue struct {
		Labels page[labelNode] `graphql:"labels(first: 50, after: $after)"`
	} `graphql:"issue(id: $id)"`
}

// relationsQuery asks for the relations of an issue that has more than one page of
// them.
type relationsQuery struct {
	Issue struct {
		InverseRelations page[relationNode] `graphql:"inverseRelations(first: 50, after: $after)"`
	} `graphql:"issue(id: $id)"`
}

type scopeQuery struct {
	Projects page[projectNode] `graphql:"projects(first: 1, filter: {slugId: {eq: $projectSlug}})"`
}

type projectNode struct {
	Teams page[struct {
		States page[struct{ Name string }] `graphql:"states(first: 50)"`
	}] `graphql:"teams(first: 20)"`
}

// labelQuery asks for the labels of one name, of the workspace and of every team.
type labelQuery struct {
	IssueLabels page[teamLabel] `graphql:"issueLabels(first: 50, filter: {name: {eqIgnoreCase: $label}})"`
}

type projectsQuery struct {
	Projects page[struct {
		Name   string
		SlugID string `graphql:"slugId"`
	}] `graphql:"projects(first: 50)"`
}

const (
	pageSize = 50 // SPEC §11.2
	maxPages = 200
)

type page[T any] struct {
	Nodes    []T `graphql:"nodes"`
	PageInfo *struct {
		HasNextPage *bool  `graphql:"hasNextPage"`
		EndCursor   string `graphql:"endCursor"`
	} `graphql:"pageInfo"`
}

// nextCursor returns the cursor of the next page, nil on the last page. It fails
// when the page lacks its nodes or pageInfo: an outage must not look like an empty
// list.
func (p page[T]) nextCursor() (*graphql.String, error) {
	switch {
	case p.Nodes == nil, p.PageInfo == nil, p.PageInfo.HasNextPage == nil:
		return nil, fmt.Errorf("%w: a page has no nodes or no pageInfo: %s", errPayload, otherAddress)
	case !*p.PageInfo.HasNextPage:
		return nil, nil
	case p.PageInfo.EndCursor == "":
		return nil, fmt.Errorf("%w: there are more pages, and no cursor to them: try again later", errCursor)
	}
	return (*graphql.String)(&p.PageInfo.EndCursor), nil
}

// remainingNodes returns the nodes of a page and of all pages after it.
func remainingNodes[T any](op string, p page[T], fetch func(after *graphql.String) (page[T], error)) ([]T, error) {
	nodes := p.Nodes
	seen := make(map[graphql.String]bool)
	for {
		after, err := p.nextCursor()
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", op, err)
		case after == nil:
			return nodes, nil
		case seen[*after]:
			return nil, fmt.Errorf("%s: %w: a cursor came twice: try again later", op, errCursor)
		case len(seen) == maxPages-1:
			return nil, fmt.Errorf("%s: %w: there are more than %d pages: narrow the project or the states", op, tracker.ErrPagination, maxPages)
		}
		seen[*after] = true
		if p, err = fetch(after); err != nil {
			return nil, err
		}
		nodes = append(nodes, p.Nodes...)
	}
}

// allNodes returns the nodes of all pages of a connection.
func allNodes[T any](op string, fetch func(after *graphql.String) (page[T], error)) ([]T, error) {
	first, err := fetch(nil)
	if err != nil {
		return nil, err
	}
	return remainingNodes(op, first, fetch)
}
