package client

import (
	"context"
	"fmt"
	"time"

	"github.com/shurcooL/graphql"
)

// PullDiscussion holds what is said about a pull request: of each list the newest 100,
// oldest first.
type PullDiscussion struct {
	Comments []PullComment
	Reviews  []PullReview
	Threads  []ReviewThread

	OmittedComments, OmittedReviews, OmittedThreads int // older ones
}

// PullComment is what one account said about a pull request.
type PullComment struct {
	Node   string  // id in GraphQL
	Author Account // zero for a deleted one
	Own    bool    // the account of the token wrote it
	Text   string
	URL    string
	At     time.Time // when it was published or last edited
	Edited bool
	// Distrust is why the word of the author does not count, as [Access.Judge] found; empty
	// for a person with write access.
	Distrust string
}

// Account is an account of GitHub as GraphQL names it: the login of a bot has no [bot].
type Account struct {
	Type  string // User, Bot, Organization, Mannequin or EnterpriseUserAccount
	Login string
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
	Line     int  // in the file; where it was when the line is gone; 0 for the file as a whole
	Outdated bool // the diff has changed there since
	Resolved bool
	Code     string // the part of the diff
	Comments []PullComment
	Omitted  int // older comments than the newest 100
}

// PullDiscussion reads what is said about the pull request of an id in GraphQL. It
// leaves out what is not published yet.
func (c *Client) PullDiscussion(ctx context.Context, node string) (PullDiscussion, error) {
	var data struct {
		Node *struct {
			Pull discussionNode `graphql:"... on PullRequest"`
		} `graphql:"node(id: $id)"`
	}
	if err := c.Query(ctx, ReadPullRequests, &data, map[string]any{"id": graphql.ID(node)}); err != nil {
		return PullDiscussion{}, err
	}
	if data.Node == nil || data.Node.Pull.ID != node {
		return PullDiscussion{}, c.unseen()
	}
	return data.Node.Pull.discussion(), nil
}

type discussionNode struct {
	ID       string
	Comments counted[commentNode] `graphql:"comments(last: 100)"`
	Reviews  counted[reviewNode]  `graphql:"reviews(last: 100)"`
	Threads  counted[threadNode]  `graphql:"reviewThreads(last: 100)"`
}

// counted is a part of a list in GraphQL, whose items may be null.
type counted[T any] struct {
	TotalCount int
	Nodes      []*T
}

func (l counted[T]) omitted() int { return max(l.TotalCount-len(l.Nodes), 0) }

type commentNode struct {
	ID              string
	Author          *actorNode
	ViewerDidAuthor bool
	Body            string
	URL             string
	PublishedAt     *time.Time // nil for a draft
	LastEditedAt    *time.Time
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
	Comments     counted[reviewCommentNode] `graphql:"comments(last: 100)"`
}

func (n *discussionNode) discussion() PullDiscussion {
	d := PullDiscussion{OmittedComments: n.Comments.omitted(), OmittedReviews: n.Reviews.omitted(), OmittedThreads: n.Threads.omitted()}
	for _, one := range n.Comments.Nodes {
		if one != nil && one.PublishedAt != nil {
			d.Comments = append(d.Comments, one.comment())
		}
	}
	for _, one := range n.Reviews.Nodes {
		if one != nil && one.PublishedAt != nil {
			d.Reviews = append(d.Reviews, PullReview{one.comment(), one.State})
		}
	}
	for _, one := range n.Threads.Nodes {
		if one == nil {
			continue
		}
		if thread := one.thread(); len(thread.Comments) > 0 {
			d.Threads = append(d.Threads, thread)
		}
	}
	return d
}

func (n *commentNode) comment() PullComment {
	comment := PullComment{Node: n.ID, Own: n.ViewerDidAuthor, Text: n.Body, URL: n.URL, At: *n.PublishedAt}
	if n.Author != nil {
		comment.Author = Account{n.Author.Typename, n.Author.Login}
	}
	// A comment of a review that is edited before the review is published is not edited
	// for those who read it.
	if n.LastEditedAt != nil && n.LastEditedAt.After(comment.At) {
		comment.At, comment.Edited = *n.LastEditedAt, true
	}
	return comment
}

func (n *threadNode) thread() ReviewThread {
	t := ReviewThread{Node: n.ID, Path: n.Path, Outdated: n.IsOutdated, Resolved: n.IsResolved, Omitted: n.Comments.omitted()}
	switch {
	case n.Line != nil:
		t.Line = *n.Line
	case n.OriginalLine != nil:
		t.Line, t.Outdated = *n.OriginalLine, true
	}
	for _, one := range n.Comments.Nodes {
		if one != nil && one.PublishedAt != nil {
			t.Comments, t.Code = append(t.Comments, one.comment()), one.DiffHunk
		}
	}
	return t
}

// ReplyToThread posts a comment in a thread of a review. It is sent once: if the answer
// is lost, the comment may be there, see [transport.Error.InDoubt].
func (c *Client) ReplyToThread(ctx context.Context, thread, text string) error {
	type AddPullRequestReviewThreadReplyInput struct {
		Thread graphql.ID `json:"pullRequestReviewThreadId"`
		Body   string     `json:"body"`
	}
	var done struct {
		Reply *struct {
			Comment *struct{ ID string }
		} `graphql:"addPullRequestReviewThreadReply(input: $input)"`
	}
	err := c.mutateOnce(ctx, WritePullRequests, &done, map[string]any{"input": AddPullRequestReviewThreadReplyInput{thread, text}})
	if err == nil && (done.Reply == nil || done.Reply.Comment == nil) {
		err = fmt.Errorf("GitHub does not find the thread of the review, or the token may not write there")
	}
	return err
}

// ResolveThread marks a thread of a review as resolved.
func (c *Client) ResolveThread(ctx context.Context, thread string) error {
	type ResolveReviewThreadInput struct {
		Thread graphql.ID `json:"threadId"`
	}
	var done struct {
		Resolve *struct {
			Thread *struct{ ID string }
		} `graphql:"resolveReviewThread(input: $input)"`
	}
	err := c.Mutate(ctx, WritePullRequests, &done, map[string]any{"input": ResolveReviewThreadInput{thread}})
	if err == nil && (done.Resolve == nil || done.Resolve.Thread == nil) {
		err = fmt.Errorf("GitHub does not find the thread of the review, or the token may not resolve it")
	}
	return err
}

// ReactTo adds a reaction, such as THUMBS_UP, to a comment or a review. One that is there
// already stays.
func (c *Client) ReactTo(ctx context.Context, node, content string) error {
	type ReactionContent string
	type AddReactionInput struct {
		Subject graphql.ID      `json:"subjectId"`
		Content ReactionContent `json:"content"`
	}
	var done struct {
		React *struct {
			Subject *struct{ ID string }
		} `graphql:"addReaction(input: $input)"`
	}
	err := c.Mutate(ctx, WriteIssues, &done, map[string]any{"input": AddReactionInput{node, ReactionContent(content)}})
	if err == nil && (done.React == nil || done.React.Subject == nil) {
		err = fmt.Errorf("GitHub does not find the comment, or the token may not react to it")
	}
	return err
}
