package client

import (
	"context"
	"net/http"
	"net/url"
)

// CreateComment posts a comment on an issue. It is sent once: if the answer is lost,
// the comment may be there, see [transport.Error.InDoubt].
func (c *Client) CreateComment(ctx context.Context, number int, body string) error {
	_, err := c.Create(ctx, Request{
		Method: http.MethodPost, Path: c.Path("/issues/%d/comments", number), Permission: WriteIssues,
		Body: map[string]string{"body": body},
	})
	return err
}

// CloseIssue closes an issue as completed.
func (c *Client) CloseIssue(ctx context.Context, number int) error {
	_, err := c.Do(ctx, Request{
		Method: http.MethodPatch, Path: c.Path("/issues/%d", number), Permission: WriteIssues, Repeatable: true,
		Body: map[string]string{"state": "closed", "state_reason": "completed"},
	})
	return err
}

// AddIssueLabel puts a label on an issue. GitHub makes a label that does not exist.
func (c *Client) AddIssueLabel(ctx context.Context, number int, label string) error {
	_, err := c.Do(ctx, Request{
		Method: http.MethodPost, Path: c.Path("/issues/%d/labels", number), Permission: WriteIssues, Repeatable: true,
		Body: map[string][]string{"labels": {label}},
	})
	return err
}

// RemoveIssueLabel takes a label off an issue, which need not carry it.
func (c *Client) RemoveIssueLabel(ctx context.Context, number int, label string) error {
	_, err := c.Do(ctx, Request{
		Method: http.MethodDelete, Path: c.Path("/issues/%d/labels/%s", number, url.PathEscape(label)), Permission: WriteIssues, Repeatable: true,
	})
	if HasStatus(err, http.StatusNotFound) {
		return nil
	}
	return err
}
