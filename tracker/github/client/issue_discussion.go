package client

import (
	"context"
	"time"
)

// IssueStatus is the state of the conversation on an issue.
type IssueStatus struct {
	Node   string    // id in GraphQL
	Edited time.Time // last change of a comment; zero for none
	Total  int       // number of its comments
	// Latest holds the comments that changed last, in that order, and LatestSince the time of
	// the first of these changes; it is zero if there are no others.
	Latest      []PullComment
	LatestSince time.Time
}

// latestComments is the number of comments that are read with the status of an issue.
const latestComments = 5

type issueStatusNode struct {
	ID             string
	Number         int
	Comments       struct{ TotalCount int } `graphql:"comments"`
	LatestComments nodes[changedComment]    `graphql:"latest: comments(last: 5, orderBy: {field: UPDATED_AT, direction: ASC})"`
}

// Statuses reads how far the conversations on issues are, with one request for each 100 of
// them. A number that does not belong to an issue has no entry.
func (i Issues) Statuses(ctx context.Context, numbers []int) (map[int]IssueStatus, error) {
	statuses := map[int]IssueStatus{}
	query := func(into any, variables map[string]any) error { return i.c.Query(ctx, ReadIssues, into, variables) }
	err := byNumber(i.c, "issue", numbers, query, func(n *issueStatusNode) { statuses[n.Number] = n.status() })
	return statuses, err
}

func (n *issueStatusNode) status() IssueStatus {
	s := IssueStatus{Node: n.ID, Total: n.Comments.TotalCount}
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

// Comments reads the comments on the issue of an id in GraphQL that changed since a
// time.
func (i Issues) Comments(ctx context.Context, node string, since time.Time) ([]PullComment, Extent, error) {
	page, err := i.c.commentsBefore(ctx, node, nil)
	if err != nil {
		return nil, Whole, err
	}
	r := &backReader{Client: i.c, node: node, since: since}
	return r.comments(ctx, page)
}
