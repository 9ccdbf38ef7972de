package client

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/internal/transport"
)

// IssueStatus is the state of the conversation on an issue.
type IssueStatus struct {
	Node    string    // id in GraphQL
	Updated time.Time // last change of the issue, as GitHub reports it
	Edited  time.Time // last change of a comment; zero for none
	Total   int       // number of its comments
	// Latest holds the comments that changed last, in that order, and LatestSince the time of
	// the first of these changes; it is zero if there are no others.
	Latest      []PullComment
	LatestSince time.Time
}

// latestComments is the number of comments that are read with the status of an issue.
const latestComments = 5

// maxIssues bounds the issues of one query.
const maxIssues = 100

type issueStatusNode struct {
	ID             string
	Number         int
	UpdatedAt      time.Time
	Comments       struct{ TotalCount int } `graphql:"comments"`
	LatestComments nodes[changedComment]    `graphql:"latest: comments(last: 5, orderBy: {field: UPDATED_AT, direction: ASC})"`
}

// IssueStatuses reads how far the conversations on issues are, with one request for each
// 100 of them. A number that does not belong to an issue has no entry.
func (c *Client) IssueStatuses(ctx context.Context, numbers []int) (map[int]IssueStatus, error) {
	statuses := map[int]IssueStatus{}
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	for part := range slices.Chunk(numbers, maxIssues) {
		if err := c.addIssueStatuses(ctx, statuses, part); err != nil {
			return nil, err
		}
	}
	return statuses, nil
}

// addIssueStatuses adds the statuses of some issues, by two requests where the answer of
// one would be too long.
func (c *Client) addIssueStatuses(ctx context.Context, statuses map[int]IssueStatus, numbers []int) error {
	data := reflect.New(numbersQuery[issueStatusNode]("issue", numbers))
	err := c.Query(ctx, ReadIssues, data.Interface(), c.repositoryVariables())
	if half := len(numbers) / 2; half > 0 && errors.Is(err, transport.ErrTooLong) {
		if err = c.addIssueStatuses(ctx, statuses, numbers[:half]); err == nil {
			err = c.addIssueStatuses(ctx, statuses, numbers[half:])
		}
		return err
	}
	if err != nil {
		return err
	}
	repository := data.Elem().Field(0)
	if repository.IsNil() {
		return c.unseen()
	}
	for i := range numbers {
		if issue, _ := repository.Elem().Field(i).Interface().(*issueStatusNode); issue != nil {
			statuses[issue.Number] = issue.status()
		}
	}
	return nil
}

func (n *issueStatusNode) status() IssueStatus {
	s := IssueStatus{Node: n.ID, Updated: n.UpdatedAt, Total: n.Comments.TotalCount}
	for _, comment := range n.LatestComments.Nodes {
		if comment == nil {
			continue
		}
		if s.LatestSince.IsZero() && len(n.LatestComments.Nodes) == latestComments {
			s.LatestSince = comment.UpdatedAt
		}
		s.Edited = comment.UpdatedAt
		if comment.PublishedAt != nil {
			s.Latest = append(s.Latest, comment.comment())
		}
	}
	return s
}

// numbersQuery returns the type of a query for parts of a repository that have numbers:
//
//	struct {
//		Repository *struct {
//			N12 *T `graphql:"n12: issue(number: 12)"`
//			…
//		} `graphql:"repository(owner: $owner, name: $name)"`
//	}
func numbersQuery[T any](field string, numbers []int) reflect.Type {
	fields := make([]reflect.StructField, len(numbers))
	for i, n := range numbers {
		fields[i] = reflect.StructField{
			Name: fmt.Sprintf("N%d", n), Type: reflect.TypeFor[*T](),
			Tag: reflect.StructTag(fmt.Sprintf(`graphql:"n%d: %s(number: %d)"`, n, field, n)),
		}
	}
	return reflect.StructOf([]reflect.StructField{{
		Name: "Repository", Type: reflect.PointerTo(reflect.StructOf(fields)),
		Tag: `graphql:"repository(owner: $owner, name: $name)"`,
	}})
}

// IssueComments reads the comments on the issue of an id in GraphQL that changed since a
// time.
func (c *Client) IssueComments(ctx context.Context, node string, since time.Time) ([]PullComment, Extent, error) {
	page, err := c.commentsBefore(ctx, node, nil)
	if err != nil {
		return nil, Whole, err
	}
	r := &backReader{Client: c, node: node, since: since}
	return r.comments(ctx, page)
}
