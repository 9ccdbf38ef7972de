package client

import (
	"context"
	"path"
	"slices"
	"strconv"
	"time"
)

// PullStatus describes the state of a pull request. All fields but Lines are equal as long as
// nothing has happened that they show.
type PullStatus struct {
	Node      string // id in GraphQL
	Number    int
	URL       string
	State     string    // OPEN, CLOSED or MERGED
	Ended     time.Time // time when it was merged or closed; zero for an open one
	By        string    // person who merged or closed it; empty for an open one, and for a deleted account
	Head      string    // commit
	HeadRef   string    // name of the branch, which need not exist any more
	Fork      bool      // the branch is in another repository
	Base      string    // name of the branch that it is for
	Draft     bool      // it is not ready for review
	Drafted   string    // person who made it a draft after it was opened; empty if nobody did, and for a deleted account
	Updated   time.Time // last change, as GitHub reports it
	Mergeable string    // MERGEABLE, CONFLICTING, or UNKNOWN as long as GitHub has not tried it
	Checks    string    // sum of the checks of Head: SUCCESS, FAILURE, ERROR, PENDING or EXPECTED; empty for none, and if they cannot be read
	// Failed is the number of checks of Head that failed. Checks stays the same when one more
	// fails, or when one is cancelled first and fails when it runs again.
	Failed int

	// The values that change when somebody says something, whether Updated does or not.
	Comments, Reviews, Threads int
	// Edited is the last change of a comment, of a comment of a review, or of one of the newest
	// 100 reviews.
	Edited time.Time
	// Lines are its comments of reviews among the 100 in the repository that changed last,
	// the newest first.
	Lines []ChangedLine
}

// ChangedLine names a comment of a review that is new or edited.
type ChangedLine struct {
	Node string // id in GraphQL
	At   time.Time
}

// pullNode is a pull request in GraphQL.
type pullNode struct {
	ID             string
	Number         int
	URL            string
	State          string
	MergedBy       *Account
	HeadRefOid     string
	HeadRefName    string
	FromFork       bool `graphql:"isCrossRepository"`
	BaseRefName    string
	IsDraft        bool
	UpdatedAt      time.Time
	ClosedAt       *time.Time // also of a merged one
	Mergeable      string
	Closings       nodes[closingNode]                   `graphql:"timelineItems(last: 1, itemTypes: [CLOSED_EVENT])"`
	Conversions    nodes[conversionNode]                `graphql:"drafted: timelineItems(last: 1, itemTypes: [CONVERT_TO_DRAFT_EVENT])"`
	Comments       struct{ TotalCount int }             `graphql:"comments"`
	Reviews        editedReviews                        `graphql:"reviews(last: 100)"`
	ReviewThreads  struct{ TotalCount int }             `graphql:"reviewThreads"`
	LatestComments nodes[struct{ UpdatedAt time.Time }] `graphql:"edited: comments(last: 1, orderBy: {field: UPDATED_AT, direction: ASC})"`
	Commits        nodes[commitNode]                    `graphql:"commits(last: 1)"`
}

// editedReviews is the query for the times at which reviews were edited. It costs one
// more request for each 100 pull requests.
type editedReviews struct {
	TotalCount int
	Nodes      []*struct{ LastEditedAt *time.Time }
}

// nodes is a list in GraphQL, whose items may be null.
type nodes[T any] struct{ Nodes []*T }

type closingNode struct {
	Event struct{ Actor *Account } `graphql:"... on ClosedEvent"`
}

type conversionNode struct {
	Event struct{ Actor *Account } `graphql:"... on ConvertToDraftEvent"`
}

type commitNode struct {
	Commit struct {
		Oid               string
		StatusCheckRollup *rollupNode
	}
}

// rollupNode is the sum of all checks of a commit in GraphQL.
type rollupNode struct {
	State    string
	Contexts struct {
		Runs     []stateCount `graphql:"checkRunCountsByState"`
		Statuses []stateCount `graphql:"statusContextCountsByState"`
	}
}

type stateCount struct {
	State string
	Count int
}

func (r *rollupNode) failed() (n int) {
	for _, c := range slices.Concat(r.Contexts.Runs, r.Contexts.Statuses) {
		if slices.Contains(failures, c.State) {
			n += c.Count
		}
	}
	return n
}

// Statuses reads how pull requests stand, with one request for each 100 of them, and one more
// if people discuss lines of open ones. A number that does not belong to a pull request has no
// entry. Checks that the token may not see are a Lack.
func (p Pulls) Statuses(ctx context.Context, numbers []int) (map[int]PullStatus, []Lack, error) {
	statuses := map[int]PullStatus{}
	var lacks lackList
	discussed := false
	query := func(into any, variables map[string]any) error {
		forbidden, err := p.c.queryVisible(ctx, ReadPullRequests, into, variables)
		if err != nil {
			return err
		}
		return p.c.lacksOfPaths(&lacks, ReadPullRequests, forbidden)
	}
	err := byNumber(p.c, "pullRequest", numbers, query, func(n *pullNode) {
		s := n.status()
		statuses[s.Number], discussed = s, discussed || s.Threads > 0 && s.State == "OPEN"
	})
	if err == nil && discussed {
		err = p.addEdits(ctx, statuses)
	}
	if err != nil {
		return nil, nil, err
	}
	return statuses, lacks, nil
}

// addEdits adds to pull requests when comments of reviews changed last, since an edit of
// one moves no other time. It reads the 100 that changed last in the repository.
func (p Pulls) addEdits(ctx context.Context, statuses map[int]PullStatus) error {
	type line struct {
		NodeID         string    `json:"node_id"`
		PullRequestURL string    `json:"pull_request_url"`
		UpdatedAt      time.Time `json:"updated_at"`
	}
	count := 0
	newest := p.c.Path("/pulls/comments?sort=updated&direction=desc&per_page=%d", pageSize)
	return walk(ctx, p.c, ReadPullRequests, newest, func(changed []line) (more bool) {
		for _, comment := range changed {
			number, _ := strconv.Atoi(path.Base(comment.PullRequestURL))
			if s, known := statuses[number]; known {
				s.Lines = append(s.Lines, ChangedLine{comment.NodeID, comment.UpdatedAt})
				if comment.UpdatedAt.After(s.Edited) {
					s.Edited = comment.UpdatedAt
				}
				statuses[number] = s
			}
		}
		count += len(changed)
		return count < pageSize
	})
}

func (p *pullNode) status() PullStatus {
	s := PullStatus{
		Node: p.ID, Number: p.Number, URL: p.URL, State: p.State, Head: p.HeadRefOid, HeadRef: p.HeadRefName, Fork: p.FromFork, Base: p.BaseRefName,
		Draft: p.IsDraft, Updated: p.UpdatedAt, Mergeable: p.Mergeable,
		Comments: p.Comments.TotalCount, Reviews: p.Reviews.TotalCount, Threads: p.ReviewThreads.TotalCount,
	}
	if p.ClosedAt != nil {
		s.Ended = *p.ClosedAt
	}
	switch p.State {
	case "MERGED":
		s.By = AccountOf(p.MergedBy).Login
	case "CLOSED":
		for _, closing := range p.Closings.Nodes {
			if closing != nil {
				s.By = AccountOf(closing.Event.Actor).Login
			}
		}
	}
	for _, conversion := range p.Conversions.Nodes {
		if conversion != nil && p.IsDraft {
			s.Drafted = AccountOf(conversion.Event.Actor).Login
		}
	}
	for _, comment := range p.LatestComments.Nodes {
		if comment != nil {
			s.Edited = comment.UpdatedAt
		}
	}
	for _, review := range p.Reviews.Nodes {
		if review != nil && review.LastEditedAt != nil && review.LastEditedAt.After(s.Edited) {
			s.Edited = *review.LastEditedAt
		}
	}
	for _, n := range p.Commits.Nodes {
		// Right after a push this may be a commit before the head.
		if n != nil && n.Commit.Oid == p.HeadRefOid && n.Commit.StatusCheckRollup != nil {
			s.Checks, s.Failed = n.Commit.StatusCheckRollup.State, n.Commit.StatusCheckRollup.failed()
		}
	}
	return s
}
