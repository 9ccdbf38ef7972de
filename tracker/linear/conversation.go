package linear

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/shurcooL/graphql"

	"github.com/symphony-runner/symphony/tracker"
)

// conversation implements [tracker.Conversation].
type conversation struct{ *reader }

// discussionQuery asks for the issues, among some, that have comments since a time, with the
// newest of these comments. Linear charges for the sizes of the pages.
type discussionQuery struct {
	Issues page[struct {
		ID       string
		Trashed  bool
		Comments page[commentNode] `graphql:"comments(first: 5, orderBy: updatedAt, filter: {updatedAt: {gte: $since}})"`
	}] `graphql:"issues(first: $first, filter: {id: {in: $ids}, project: {slugId: {eq: $projectSlug}}, comments: {some: {updatedAt: {gte: $since}}}})"`
}

// newestCommentsQuery asks for the newest comments of an issue that has more than 5.
type newestCommentsQuery struct {
	Issue struct {
		Comments page[commentNode] `graphql:"comments(first: 100, after: $after, orderBy: updatedAt, filter: {updatedAt: {gte: $since}})"`
	} `graphql:"issue(id: $id)"`
}

type commentNode struct {
	ID           string
	Body         string
	URL          string
	CreatedAt    time.Time
	UpdatedAt    time.Time // also when somebody reacted
	EditedAt     *time.Time
	User         *speakerNode
	BotActor     *struct{ Name string }
	ExternalUser *struct{ DisplayName string }
}

type speakerNode struct {
	DisplayName string
	Active      bool
	Guest       bool
	App         bool
	IsMe        bool
}

// maxIssues bounds the issues of one query, and commentsPage the comments that it returns of an
// issue with many.
const (
	maxIssues    = 100
	commentsPage = 100
)

// CommentsSince asks for the comments of 100 issues at once, and again for an issue with
// more than five.
func (c conversation) CommentsSince(ctx context.Context, since map[tracker.ID]time.Time) (map[tracker.ID]tracker.Comments, error) {
	const op = "read the comments on Linear issues"
	all := make(map[tracker.ID]tracker.Comments)
	ids := distinctIDs(slices.Sorted(maps.Keys(since)))
	for batch := range slices.Chunk(ids, maxIssues) {
		earliest := since[tracker.ID(batch[0])]
		var variables []graphql.ID
		for _, id := range batch {
			variables = append(variables, id)
			if at := since[tracker.ID(id)]; at.Before(earliest) {
				earliest = at
			}
		}
		var answer discussionQuery
		err := c.query(ctx, op, &answer, map[string]any{
			"ids": variables, "projectSlug": graphql.String(c.cfg.ProjectSlug), "first": graphql.Int(len(batch)), "since": linearTime(earliest),
		})
		if err != nil {
			return nil, err
		}
		if _, err := answer.Issues.nextCursor(); err != nil {
			return nil, fmt.Errorf("%s: %w", op, err)
		}
		for _, n := range rand.Perm(len(answer.Issues.Nodes)) { // a random order, so that not the same issues always wait
			issue := answer.Issues.Nodes[n]
			id := tracker.ID(issue.ID)
			if _, asked := since[id]; issue.Trashed || !asked {
				continue
			}
			comments, err := c.newest(ctx, op, id, issue.Comments, since[id])
			if err != nil {
				return nil, err
			}
			if len(comments.List) > 0 || comments.Unread {
				all[id] = comments
			}
		}
	}
	return all, nil
}

// newest returns the comments on an issue since a time, of which first is a page. The comments
// on later pages were changed before everything on this one.
func (c conversation) newest(ctx context.Context, op string, id tracker.ID, first page[commentNode], since time.Time) (tracker.Comments, error) {
	more, err := first.nextCursor()
	if err != nil {
		return tracker.Comments{}, fmt.Errorf("%s: %w", op, err)
	}
	nodes, all := first.Nodes, tracker.Comments{}
	if more != nil && !slices.ContainsFunc(nodes, func(n commentNode) bool { return n.UpdatedAt.Before(since) }) {
		nodes, all, err = c.newestPages(ctx, op, id, since)
	}
	if err != nil || all.Unread {
		return all, err
	}
	for _, n := range nodes {
		if !n.at().Before(since) {
			all.List = append(all.List, n.comment())
		}
	}
	slices.SortStableFunc(all.List, func(a, b tracker.Comment) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// newestPages returns the comments on an issue that changed since a time, and whether
// there are too many.
func (c conversation) newestPages(ctx context.Context, op string, id tracker.ID, since time.Time) (nodes []commentNode, extent tracker.Comments, err error) {
	var after *graphql.String
	for {
		var answer newestCommentsQuery
		err := c.query(ctx, op, &answer, map[string]any{"id": graphql.String(id), "since": linearTime(since), "after": after})
		if err != nil {
			return nil, extent, err
		}
		nodes = append(nodes, answer.Issue.Comments.Nodes...)
		if after, err = answer.Issue.Comments.nextCursor(); err != nil {
			return nil, extent, fmt.Errorf("%s: %w", op, err)
		}
		switch {
		case after == nil:
			return nodes, extent, nil
		case len(nodes) >= tracker.MaxComments:
			return nodes, tracker.Comments{Truncated: true}, nil
		case !c.commentPages.Take(len(nodes) > commentsPage):
			return nil, tracker.Comments{Unread: true}, nil
		}
	}
}

// linearTime returns the variable of a filter by time. The local type has the name that
// the GraphQL client writes for it.
func linearTime(at time.Time) any {
	type DateTimeOrDuration string
	return DateTimeOrDuration(at.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// at returns the time when the comment was written or last edited.
func (n commentNode) at() time.Time {
	if n.EditedAt != nil && n.EditedAt.After(n.CreatedAt) {
		return n.EditedAt.UTC()
	}
	return n.CreatedAt.UTC()
}

// comment returns the comment as the rest of the program knows it.
func (n commentNode) comment() tracker.Comment {
	c := tracker.Comment{ID: n.ID, Text: n.Body, URL: n.URL, At: n.at()}
	switch {
	case n.ExternalUser != nil:
		c.Author, c.Bot, c.Distrust = n.ExternalUser.DisplayName, true, "it comes from outside of the workspace"
	case n.User == nil && n.BotActor != nil:
		c.Author, c.Bot, c.Distrust = n.BotActor.Name, true, n.BotActor.Name+" is not a person"
	case n.User == nil:
		c.Distrust = "a deleted account"
	case n.User.App || n.BotActor != nil:
		c.Author, c.Bot, c.Distrust = n.User.DisplayName, true, n.User.DisplayName+" is not a person"
	case !n.User.Active:
		c.Author, c.Distrust = n.User.DisplayName, n.User.DisplayName+" is not active any more"
	case n.User.Guest:
		c.Author, c.Distrust = n.User.DisplayName, n.User.DisplayName+" is a guest"
	default:
		c.Author = n.User.DisplayName
	}
	// A person may give the program their own key, and then writes with the same account: only
	// the id tells the author. A comment with such an id and the account of another person was
	// posted with a key of that person, by this program in the past or by another one.
	switch ours, posted := n.User != nil && n.User.IsMe, isOurComment(n.ID); {
	case ours && (n.User.App || posted), posted && c.Bot:
		c.Own, c.Distrust = true, ""
	case posted && c.Distrust == "":
		c.Distrust = "it was posted by this program or its agent with the key of " + n.User.DisplayName
	}
	return c
}

// reactionSubject asks for the reactions to a comment.
type reactionSubject struct {
	Comments page[struct {
		Reactions []struct{ ID string }
	}] `graphql:"comments(first: 1, filter: {id: {eq: $comment}})"`
}

// React adds a reaction with an id that belongs to the comment, so that there is no second
// one.
func (c conversation) React(ctx context.Context, id tracker.ID, comment string, r tracker.Reaction) error {
	op := "react to a comment on Linear issue " + c.wire.Quote(string(id))
	reaction := derivedID(programComment, "reaction", comment, string(r))
	var subject reactionSubject
	if err := c.query(ctx, op, &subject, map[string]any{"comment": graphql.ID(comment)}); err != nil {
		return err
	}
	if _, err := subject.Comments.nextCursor(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if len(subject.Comments.Nodes) == 0 {
		return fmt.Errorf("%s: %w: it is deleted, or the key cannot see it", op, tracker.ErrNotVisible)
	}
	if slices.Contains(subject.Comments.Nodes[0].Reactions, struct{ ID string }{reaction}) {
		return nil
	}
	type ReactionCreateInput struct {
		ID        string `json:"id"`
		CommentID string `json:"commentId"`
		Emoji     string `json:"emoji"`
	}
	emoji := map[tracker.Reaction]string{tracker.Obeyed: "👍", tracker.Unknown: "😕"}[r]
	return c.change(ctx, op, "reactionCreate(input: $input)", map[string]any{"input": ReactionCreateInput{reaction, comment, emoji}})
}
