package linear

import (
	"fmt"

	"github.com/shurcooL/graphql"
	"github.com/symphony-runner/symphony/tracker"
)

const (
	pageSize = 50 // SPEC §11.2
	maxPages = 200
)

// page is a part of any GraphQL connection.
type page[T any] struct {
	Nodes    []T
	PageInfo *struct {
		HasNextPage *bool
		EndCursor   string
	}
}

// after returns the cursor of the next page, nil when this is the last. A
// page without its parts is no page: an outage must not look like an empty board.
func (p page[T]) after() (*graphql.String, error) {
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

// rest gives the nodes of a page and of all that come after it, or an error.
func rest[T any](op string, p page[T], fetch func(after *graphql.String) (page[T], error)) ([]T, error) {
	nodes := p.Nodes
	seen := make(map[graphql.String]bool)
	for {
		after, err := p.after()
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

// all gives the nodes of a connection.
func all[T any](op string, fetch func(after *graphql.String) (page[T], error)) ([]T, error) {
	first, err := fetch(nil)
	if err != nil {
		return nil, err
	}
	return rest(op, first, fetch)
}
