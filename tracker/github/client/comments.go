package client

import (
	"cmp"
	"context"
	"path"

	"github.com/google/go-github/v62/github"
)

// Comment is a comment on an issue or a pull request, or one of a review.
type Comment struct {
	User           *github.User `json:"user"`
	Body           string       `json:"body"`
	IssueURL       string       `json:"issue_url"`
	PullRequestURL string       `json:"pull_request_url"`
}

// Number returns the number of the issue or pull request that the comment is on.
func (c Comment) Number() string { return path.Base(cmp.Or(c.IssueURL, c.PullRequestURL)) }

// Comment reads the comment at issues/comments/<id> or pulls/comments/<id>.
func (c *Client) Comment(ctx context.Context, at string) (Comment, error) {
	return get[Comment](ctx, c, ReadIssues, "/%s", at)
}

// PullRequest reads a pull request.
func (c *Client) PullRequest(ctx context.Context, number string) (*PullRequest, error) {
	return get[*PullRequest](ctx, c, ReadPullRequests, "/pulls/%s", number)
}

// LabelsOf reads the labels of an issue or a pull request.
func (c *Client) LabelsOf(ctx context.Context, number string) ([]string, error) {
	labels, err := list[github.Label](ctx, c, ReadIssues, "/issues/"+number+"/labels?per_page=100")
	names := make([]string, len(labels))
	for i, label := range labels {
		names[i] = label.GetName()
	}
	return names, err
}

// Account reads the login of the account that the token acts as. The REST API does not
// return it for the tokens of Apps and jobs.
func (c *Client) Account(ctx context.Context) (string, error) {
	var q struct{ Viewer struct{ Login string } }
	err := c.Query(ctx, ReadMetadata, &q, nil)
	if err == nil && q.Viewer.Login == "" {
		err = c.Incomplete()
	}
	return q.Viewer.Login, err
}
