package client

import (
	"context"
	"slices"
	"strings"

	"github.com/shurcooL/graphql"
)

// maxCommentPages bounds how many comments are searched for one by the program: the
// newest 1,000, and fewer where their texts are long. If the program's comment is older than
// these, it is posted again.
const maxCommentPages = 10

// commentsQuery asks for a page of the comments of an issue or a pull request, and whose
// the token is.
type commentsQuery struct {
	Viewer struct{ Login string }
	Nodes  []*struct {
		Issue struct {
			Comments commentsPage `graphql:"comments(last: $size, before: $before)"`
		} `graphql:"... on Issue"`
		Pull struct {
			Comments commentsPage `graphql:"comments(last: $size, before: $before)"`
		} `graphql:"... on PullRequest"`
	} `graphql:"nodes(ids: $ids)"`
}

type commentsPage struct {
	PageInfo struct {
		HasPreviousPage bool
		StartCursor     graphql.String
	}
	Nodes []*markedComment
}

type markedComment struct {
	ID     string
	Body   string
	Author *Account
}

// isBy reports whether the account of a token wrote the comment. The login of an App
// has a suffix only where it asks for itself.
func (c *markedComment) isBy(viewer string) bool {
	login, bot := strings.CutSuffix(viewer, "[bot]")
	return c.Author != nil && c.Author.Login == login && (c.Author.Type == "Bot") == bot
}

// Thread names an issue or a pull request.
type Thread struct {
	Node   string // id in GraphQL
	Number int
}

// SetComment sets the text of the comment that ends with a marker, which is a line of its
// own. It edits the newest such comment of the token's account, or posts one if there is
// none. created reports that it tried to post one, so after a failure the comment may
// exist.
func (i Issues) SetComment(ctx context.Context, on Thread, marker, text string) (created bool, err error) {
	comment, err := i.findComment(ctx, on.Node, marker)
	body := text + "\n\n" + marker
	switch {
	case err != nil:
		return false, err
	case comment == nil:
		return true, i.AddComment(ctx, on.Number, body)
	case plainBody(comment.Body) == body:
		return false, nil
	}
	return false, i.editComment(ctx, comment.ID, body)
}

// plainBody returns the text of a comment as [Issues.SetComment] writes it.
func plainBody(body string) string { return strings.TrimSpace(strings.ReplaceAll(body, "\r\n", "\n")) }

// findComment returns the newest comment of the token's account that ends with a marker,
// nil when there is none. A marker in a comment of somebody else counts for nothing.
func (i Issues) findComment(ctx context.Context, node, marker string) (*markedComment, error) {
	var before *graphql.String
	for range maxCommentPages {
		data, err := readSized(func(size graphql.Int) (data commentsQuery, err error) {
			err = i.c.Query(ctx, ReadIssues, &data, map[string]any{"ids": []graphql.ID{node}, "before": before, "size": size})
			return data, err
		})
		if err != nil {
			return nil, err
		}
		if data.Viewer.Login == "" || len(data.Nodes) != 1 || data.Nodes[0] == nil {
			return nil, i.c.Incomplete()
		}
		page := data.Nodes[0].Issue.Comments
		if page.Nodes == nil {
			page = data.Nodes[0].Pull.Comments
		}
		for _, one := range slices.Backward(page.Nodes) {
			if one != nil && one.isBy(data.Viewer.Login) && strings.HasSuffix(plainBody(one.Body), "\n"+marker) {
				return one, nil
			}
		}
		if !page.PageInfo.HasPreviousPage {
			return nil, nil
		}
		before = &page.PageInfo.StartCursor
	}
	return nil, nil
}

// editComment replaces the text of a comment of an issue or a pull request.
func (i Issues) editComment(ctx context.Context, node, body string) error {
	type UpdateIssueCommentInput struct {
		ID   graphql.ID `json:"id"`
		Body string     `json:"body"`
	}
	_, err := i.c.Mutate(ctx, Mutation{
		Permission: WriteIssues, Name: "updateIssueComment", Object: "issueComment", Input: UpdateIssueCommentInput{node, body},
		Unseen: "GitHub does not find what to change: it is gone, or the token may not change it",
	})
	return err
}
