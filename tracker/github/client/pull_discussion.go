package client

import (
	"context"
	"slices"
	"time"

	"github.com/shurcooL/graphql"
)

// PullDiscussion holds the comments on a pull request, oldest first.
type PullDiscussion struct {
	Comments []PullComment
	Reviews  []PullReview
	Threads  []ReviewThread
	// Extent is the extent of the list of which the smallest part was read. A postponed
	// discussion has no lists.
	Extent Extent

	// The values with which [Pulls.UpdateDiscussion] begins.
	node   string    // GraphQL id of the pull request
	since  time.Time // time that the caller asked for
	edited time.Time // [PullStatus].Edited
	totals [3]int    // numbers of comments, reviews and threads, older ones included
}

// PullComment is a text of one account about a pull request.
type PullComment struct {
	Node   string  // id in GraphQL
	Author Account // zero for a deleted one
	Ours   bool    // the account of the token wrote it
	Text   string
	URL    string
	At     time.Time // time when it was published or last edited
	Edited bool
	Editor Account // last editor; zero for a deleted account, and where nobody edited it
	// Own and Distrust are set by [Access.Judge]: Own if the program or its agent wrote it, and
	// otherwise Distrust to the reason why the word of the author does not count; empty for a
	// person with write access.
	Own      bool
	Distrust string
}

// Account is an account of GitHub as GraphQL names it: the login of a bot has no [bot]. The zero
// value is a deleted one.
type Account struct {
	Type  string `graphql:"__typename"` // User, Bot, Organization, Mannequin or EnterpriseUserAccount
	Login string
}

// AccountOf returns an account in an answer of GraphQL, in which a deleted one is null.
func AccountOf(node *Account) Account {
	if node == nil {
		return Account{}
	}
	return *node
}

// PullReview is a review that was submitted. Its text may be empty.
type PullReview struct {
	PullComment
	Verdict string // APPROVED, CHANGES_REQUESTED, COMMENTED or DISMISSED
}

// ReviewThread is a discussion of reviews at a line of a file.
type ReviewThread struct {
	Node     string // id in GraphQL
	Path     string
	Line     int  // line of the file, or its last place when it is gone; 0 for the file as a whole
	Outdated bool // the diff has changed there since
	Resolved bool
	Code     string // the part of the diff
	Comments []PullComment
	total    int // number of all comments, older ones included
}

// discussionEnd is the last part of each list of a pull request.
type discussionEnd struct {
	ID       string
	Comments commentList          `graphql:"comments(last: $size, orderBy: {field: UPDATED_AT, direction: ASC})"`
	Reviews  pageBack[reviewNode] `graphql:"reviews(last: $size)"`
	Threads  pageBack[threadNode] `graphql:"reviewThreads(last: $size)"`
}

func (e discussionEnd) totals() [3]int {
	return [3]int{e.Comments.TotalCount, e.Reviews.TotalCount, e.Threads.TotalCount}
}

// endOfDiscussion reads the last part of each list of the pull request of an id in GraphQL.
func (p Pulls) endOfDiscussion(ctx context.Context, node string) (discussionEnd, error) {
	type discussion struct {
		Node *struct {
			Pull discussionEnd `graphql:"... on PullRequest"`
		} `graphql:"node(id: $id)"`
	}
	data, err := readSized(func(size graphql.Int) (data discussion, err error) {
		err = p.c.Query(ctx, ReadPullRequests, &data, map[string]any{"id": graphql.ID(node), "size": size})
		return data, err
	})
	switch {
	case err != nil:
		return discussionEnd{}, err
	case data.Node == nil || data.Node.Pull.ID != node:
		return discussionEnd{}, p.c.unseen()
	}
	return data.Node.Pull, nil
}

// Discussion reads the comments since a time on the pull request of an id in GraphQL, and
// all its threads. It leaves out drafts. Older comments that stand beside newer ones may be
// there too. An edited review or comment of a thread is seen among the newest 100 of its list,
// and where more are new.
func (p Pulls) Discussion(ctx context.Context, node string, since time.Time) (PullDiscussion, error) {
	pull, err := p.endOfDiscussion(ctx, node)
	if err != nil {
		return PullDiscussion{}, err
	}
	var (
		r       = &backReader{Client: p.c, node: node, since: since}
		d       = PullDiscussion{node: node, since: since, totals: pull.totals()}
		extents [3]Extent
	)
	if d.Comments, extents[0], err = r.comments(ctx, pull.Comments); err == nil {
		d.Reviews, extents[1], err = r.reviews(ctx, pull.Reviews)
	}
	if err == nil {
		d.Threads, extents[2], err = r.threads(ctx, pull.Threads)
	}
	if d.Extent = slices.Max(extents[:]); err != nil || d.Extent == Postponed {
		return PullDiscussion{Extent: d.Extent}, err
	}
	return d, nil
}

// reviews reads the reviews of a pull request; page is the last part of their list.
func (r *backReader) reviews(ctx context.Context, page pageBack[reviewNode]) ([]PullReview, Extent, error) {
	isOld := func(n *reviewNode) bool { return n.isBefore(r.since) }
	nodes, extent, err := readBack(r, page, isOld, func(before *graphql.String) (pageBack[reviewNode], error) {
		part, err := readPart[struct {
			Pull struct {
				Reviews pageBack[reviewNode] `graphql:"reviews(last: $size, before: $before)"`
			} `graphql:"... on PullRequest"`
		}](ctx, r.Client, r.node, before)
		return part.Pull.Reviews, err
	})
	var reviews []PullReview
	for _, one := range nodes {
		if one.PublishedAt != nil {
			reviews = append(reviews, PullReview{one.comment(), one.State})
		}
	}
	return reviews, extent, err
}

// threads reads all threads of a pull request, since any of them may have a new comment;
// page is the last part of their list.
func (r *backReader) threads(ctx context.Context, page pageBack[threadNode]) ([]ReviewThread, Extent, error) {
	nodes, extent, err := r.threadNodes(ctx, page, nil)
	var threads []ReviewThread
	for _, one := range nodes {
		if err != nil {
			break
		}
		var comments []*reviewCommentNode
		var of Extent
		comments, of, err = r.thread(ctx, one, r.since)
		extent = max(extent, of)
		if thread := one.thread(comments); len(thread.Comments) > 0 {
			threads = append(threads, thread)
		}
	}
	return threads, extent, err
}

// threadNodes reads the threads of a pull request backward to the page with one that is old.
func (r *backReader) threadNodes(ctx context.Context, page pageBack[threadNode], isOld func(*threadNode) bool) ([]*threadNode, Extent, error) {
	return readBack(r, page, isOld, func(before *graphql.String) (pageBack[threadNode], error) {
		part, err := readPart[struct {
			Pull struct {
				Threads pageBack[threadNode] `graphql:"reviewThreads(last: $size, before: $before)"`
			} `graphql:"... on PullRequest"`
		}](ctx, r.Client, r.node, before)
		return part.Pull.Threads, err
	})
}

// thread reads the comments of a thread from a time on.
func (r *backReader) thread(ctx context.Context, thread *threadNode, since time.Time) ([]*reviewCommentNode, Extent, error) {
	isOld := func(n *reviewCommentNode) bool { return n.isBefore(since) }
	return readBack(r, thread.Comments, isOld, func(before *graphql.String) (pageBack[reviewCommentNode], error) {
		part, err := readPart[struct {
			Thread struct {
				Comments pageBack[reviewCommentNode] `graphql:"comments(last: $size, before: $before)"`
			} `graphql:"... on PullRequestReviewThread"`
		}](ctx, r.Client, thread.ID, before)
		return part.Thread.Comments, err
	})
}

type commentNode struct {
	ID              string
	Author          *Account
	ViewerDidAuthor bool
	Body            string
	URL             string
	PublishedAt     *time.Time // nil for a draft
	LastEditedAt    *time.Time
	Editor          *Account
}

type reviewNode struct {
	commentNode
	State string
}

type reviewCommentNode struct {
	commentNode
	DiffHunk string
}

type threadNode struct {
	ID           string
	Path         string
	Line         *int
	OriginalLine *int
	IsOutdated   bool
	IsResolved   bool
	Comments     pageBack[reviewCommentNode] `graphql:"comments(last: $size)"`
}

// isBefore reports whether the comment was published and last edited before a time.
func (n *commentNode) isBefore(t time.Time) bool {
	return n.PublishedAt != nil && n.comment().At.Before(t)
}

func (n *commentNode) comment() PullComment {
	comment := PullComment{Node: n.ID, Author: AccountOf(n.Author), Ours: n.ViewerDidAuthor, Text: n.Body, URL: n.URL, At: *n.PublishedAt}
	// A comment of a review that is edited before the review is published is not edited
	// for those who read it.
	if n.LastEditedAt != nil && n.LastEditedAt.After(comment.At) {
		comment.At, comment.Edited, comment.Editor = *n.LastEditedAt, true, AccountOf(n.Editor)
	}
	return comment
}

func (n *threadNode) thread(comments []*reviewCommentNode) ReviewThread {
	t := ReviewThread{Node: n.ID, Path: n.Path, Outdated: n.IsOutdated, Resolved: n.IsResolved, total: n.Comments.TotalCount}
	switch {
	case n.Line != nil:
		t.Line = *n.Line
	case n.OriginalLine != nil:
		t.Line, t.Outdated = *n.OriginalLine, true
	}
	for _, one := range comments {
		if one.PublishedAt != nil {
			t.Comments, t.Code = append(t.Comments, one.comment()), one.DiffHunk
		}
	}
	return t
}

// Reply posts a comment in a thread of a review. It is sent once: if the answer is lost, the
// comment may be there, see [transport.Error.InDoubt].
func (p Pulls) Reply(ctx context.Context, thread, text string) error {
	type AddPullRequestReviewThreadReplyInput struct {
		Thread graphql.ID `json:"pullRequestReviewThreadId"`
		Body   string     `json:"body"`
	}
	return p.c.create(ctx, func() error {
		_, err := p.c.Mutate(ctx, Mutation{
			Permission: WritePullRequests, Name: "addPullRequestReviewThreadReply", Object: "comment", Once: true,
			Input:  AddPullRequestReviewThreadReplyInput{thread, text},
			Unseen: "GitHub does not find the thread of the review, or the token may not write there",
		})
		return err
	})
}

// Resolve marks a thread of a review as resolved.
func (p Pulls) Resolve(ctx context.Context, thread string) error {
	type ResolveReviewThreadInput struct {
		Thread graphql.ID `json:"threadId"`
	}
	_, err := p.c.Mutate(ctx, Mutation{
		Permission: WritePullRequests, Name: "resolveReviewThread", Object: "thread", Input: ResolveReviewThreadInput{thread},
		Unseen: "GitHub does not find the thread of the review, or the token may not resolve it",
	})
	return err
}
