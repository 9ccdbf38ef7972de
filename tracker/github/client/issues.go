package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/google/go-github/v62/github"
	"github.com/shurcooL/graphql"
)

// Issue is an issue or a pull request as the REST API gives it.
type Issue = github.Issue

// Issues makes requests about issues, and about the comments on issues and pull requests.
type Issues struct{ c *Client }

// Labels reads the labels of the repository.
func (i Issues) Labels(ctx context.Context) ([]github.Label, error) {
	return list[github.Label](ctx, i.c, ReadIssues, "/labels?per_page=100")
}

// AddComment posts a comment on an issue. It is sent once: if the answer is lost, the comment
// may be there, see [transport.Error.InDoubt].
func (i Issues) AddComment(ctx context.Context, number int, body string) error {
	_, err := i.c.Create(ctx, Request{
		Method: http.MethodPost, Path: i.c.Path("/issues/%d/comments", number), Permission: WriteIssues,
		Body: map[string]string{"body": body},
	})
	return err
}

// Close closes an issue as completed.
func (i Issues) Close(ctx context.Context, number int) error {
	return i.c.send(ctx, Request{
		Method: http.MethodPatch, Path: i.c.Path("/issues/%d", number), Permission: WriteIssues, Repeatable: true,
		Body: map[string]string{"state": "closed", "state_reason": "completed"},
	})
}

// AddLabel puts a label on an issue. GitHub makes a label that does not exist.
func (i Issues) AddLabel(ctx context.Context, number int, label string) error {
	return i.c.send(ctx, Request{
		Method: http.MethodPost, Path: i.c.Path("/issues/%d/labels", number), Permission: WriteIssues, Repeatable: true,
		Body: map[string][]string{"labels": {label}},
	})
}

// RemoveLabel takes a label off an issue, which need not carry it.
func (i Issues) RemoveLabel(ctx context.Context, number int, label string) error {
	err := i.c.send(ctx, Request{
		Method: http.MethodDelete, Path: i.c.Path("/issues/%d/labels/%s", number, url.PathEscape(label)), Permission: WriteIssues, Repeatable: true,
	})
	if HasStatus(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// React adds a reaction, such as THUMBS_UP, to a comment or a review. A reaction that is there
// already stays.
func (i Issues) React(ctx context.Context, node, content string) error {
	type ReactionContent string
	type AddReactionInput struct {
		Subject graphql.ID      `json:"subjectId"`
		Content ReactionContent `json:"content"`
	}
	_, err := i.c.Mutate(ctx, Mutation{
		Permission: WriteIssues, Name: "addReaction", Object: "subject", Input: AddReactionInput{node, ReactionContent(content)},
		Unseen: "GitHub does not find the comment, or the token may not react to it",
	})
	return err
}
