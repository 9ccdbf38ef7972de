package client

import "context"

// PullRequest reads a pull request.
func (c *Client) PullRequest(ctx context.Context, number string) (*PullRequest, error) {
	return get[*PullRequest](ctx, c, ReadPullRequests, "/pulls/%s", number)
}
