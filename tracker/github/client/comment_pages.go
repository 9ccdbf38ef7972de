package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/shurcooL/graphql"

	"github.com/symphony-runner/symphony/internal/transport"
)

// pageBack is the last part of a list in GraphQL, and where the part before it ends. Its
// items may be null.
type pageBack[T any] struct {
	TotalCount int // length of the whole list
	Nodes      []*T
	PageInfo   struct {
		HasPreviousPage bool
		StartCursor     graphql.String
	}
}

// before returns the cursor to the part before, nil if there is none.
func (p pageBack[T]) before() *graphql.String {
	if !p.PageInfo.HasPreviousPage || p.PageInfo.StartCursor == "" {
		return nil
	}
	return &p.PageInfo.StartCursor
}

// pageSizes are the numbers of items that a request asks for of each list, and of the
// lists in it. The smaller ones follow an answer that was too long, since anybody may
// write long texts.
var pageSizes = []int{100, 30, 10, 3}

// readSized reads a page of the greatest size whose answer is not too long.
func readSized[T any](read func(size graphql.Int) (T, error)) (page T, err error) {
	for _, size := range pageSizes {
		if page, err = read(graphql.Int(size)); !errors.Is(err, transport.ErrTooLong) {
			break
		}
	}
	return page, err
}

// Extent is the part of a list that was read.
type Extent int

// The extents.
const (
	Whole     Extent = iota // all that was asked for
	Omits                   // the newest 10,000 items
	Postponed               // nothing, since too many pages were read in the last minutes
)

// The bounds of the pages of one list, and of all lists of a conversation.
const (
	maxBack      = 100
	maxBackOfAll = 3 * maxBack
)

// backReader reads the lists of one conversation backward from their ends.
type backReader struct {
	*Client
	node  string    // id in GraphQL of the issue or pull request
	since time.Time // time from which changes are of interest
	read  int       // further pages of all lists
}

// next reports whether one more page of a list may be read; otherwise extent describes the part
// of the list that was read.
func (r *backReader) next(pages int) (extent Extent, ok bool) {
	switch {
	case pages == maxBack, r.read == maxBackOfAll:
		return Omits, false
	case !r.pages.Take(r.read > 0):
		return Postponed, false
	}
	r.read++
	return Whole, true
}

// readBack returns the items of a list, oldest first. It reads backward from a page to the
// first one with an item that is old; nil reads the whole list. more reads the page before a
// cursor.
func readBack[T any](r *backReader, page pageBack[T], isOld func(*T) bool, more func(before *graphql.String) (pageBack[T], error)) ([]*T, Extent, error) {
	pages := [][]*T{page.Nodes}
	reaches := func(one *T) bool { return isOld != nil && one != nil && isOld(one) }
	for before := page.before(); before != nil && !slices.ContainsFunc(page.Nodes, reaches); before = page.before() {
		switch extent, ok := r.next(len(pages)); {
		case extent == Omits:
			return oldestFirst(pages), Omits, nil
		case !ok:
			return nil, extent, nil
		}
		var err error
		if page, err = more(before); err != nil {
			return nil, Whole, err
		}
		pages = append(pages, page.Nodes)
	}
	return oldestFirst(pages), Whole, nil
}

// oldestFirst joins pages that were read from the newest on.
func oldestFirst[T any](pages [][]*T) []*T {
	slices.Reverse(pages)
	return slices.DeleteFunc(slices.Concat(pages...), func(one *T) bool { return one == nil })
}

// commentList is a list of comments in the order of their last changes, so that an edited
// one is among the newest.
type commentList = pageBack[changedComment]

type changedComment struct {
	commentNode
	UpdatedAt time.Time // not earlier than the comment itself; changes also when it is hidden
}

// comments reads the comments on an issue or a pull request; page is the last part of
// their list.
func (r *backReader) comments(ctx context.Context, page commentList) ([]PullComment, Extent, error) {
	isOld := func(n *changedComment) bool { return n.UpdatedAt.Before(r.since) }
	nodes, extent, err := readBack(r, page, isOld, func(before *graphql.String) (commentList, error) {
		return r.commentsBefore(ctx, r.node, before)
	})
	var comments []PullComment
	for _, one := range nodes {
		if one.PublishedAt != nil {
			comments = append(comments, one.comment())
		}
	}
	return comments, extent, err
}

// commentsBefore reads the comments before a cursor, nil for the last ones.
func (c *Client) commentsBefore(ctx context.Context, node string, before *graphql.String) (commentList, error) {
	list, err := readPart[struct {
		Issue struct {
			ID       string
			Comments commentList `graphql:"comments(last: $size, before: $before, orderBy: {field: UPDATED_AT, direction: ASC})"`
		} `graphql:"... on Issue"`
		Pull struct {
			Comments commentList `graphql:"comments(last: $size, before: $before, orderBy: {field: UPDATED_AT, direction: ASC})"`
		} `graphql:"... on PullRequest"`
	}](ctx, c, node, before)
	if list.Issue.ID != "" {
		return list.Issue.Comments, err
	}
	return list.Pull.Comments, err
}

// readPart reads the part of a list before a cursor, of the object with an id in GraphQL.
func readPart[T any](ctx context.Context, c *Client, node string, before *graphql.String) (T, error) {
	return readSized(func(size graphql.Int) (T, error) {
		var data struct {
			Node *T `graphql:"node(id: $id)"`
		}
		err := c.Query(ctx, ReadPullRequests, &data, map[string]any{"id": graphql.ID(node), "before": before, "size": size})
		if err == nil && data.Node == nil {
			err = c.unseen()
		}
		if err != nil {
			var none T
			return none, err
		}
		return *data.Node, nil
	})
}
