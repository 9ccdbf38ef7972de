package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// maxNodes is how many nodes GitHub gives for one query by id.
const maxNodes = 100

// query asks the GraphQL API, for reading alone. What GitHub reports as not
// found is null in the data, and so is what the token may not see deep inside a
// node; both are the caller's to judge. Any other error fails the query: an
// outage must never look like an empty answer.
func (c *client) query(ctx context.Context, op, permission, document string, variables map[string]any, data any) error {
	body, err := json.Marshal(map[string]any{"query": document, "variables": variables})
	if err != nil {
		return fmt.Errorf("%s: %w: %w", op, tracker.ErrRequest, err)
	}
	a, err := c.do(ctx, request{op: op, method: http.MethodPost, url: c.graphql, body: body})
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return newStatusError(op, a, "the token may not use GitHub's GraphQL API for this: give it "+permission)
	}
	var reply struct {
		Data   json.RawMessage
		Errors []queryError
	}
	if err := a.decode(op, &reply); err != nil {
		return err
	}
	for _, e := range reply.Errors {
		switch {
		case e.absent():
		case e.Type == "RATE_LIMITED" || e.Type == "RATE_LIMIT":
			return &tracker.RateLimitError{Op: op, RetryAfter: untilReset(a.header, time.Now())}
		case e.Type == "FORBIDDEN" || e.Type == "INSUFFICIENT_SCOPES":
			return fmt.Errorf("%s: %w: %q: give the token %s", op, tracker.ErrStatus, clip(e.Message), permission)
		default:
			return fmt.Errorf("%s: %w: GitHub says %q: try again later", op, tracker.ErrResponse, clip(e.Message))
		}
	}
	if len(reply.Data) == 0 || string(reply.Data) == "null" {
		return fmt.Errorf("%s: %w: the answer has no data: try again later", op, tracker.ErrResponse)
	}
	if err := json.Unmarshal(reply.Data, data); err != nil {
		return fmt.Errorf("%s: %w: %w: see that this GitHub server is a supported one", op, tracker.ErrResponse, err)
	}
	return nil
}

type queryError struct {
	Type    string
	Message string
	Path    []any
}

// absent reports whether the error only explains a null in the data.
func (e queryError) absent() bool {
	inNode := len(e.Path) > 2 && e.Path[0] == "nodes"
	return len(e.Path) > 0 && e.Type == "NOT_FOUND" || inNode && e.Type == "FORBIDDEN"
}

// clip keeps what a server says short.
func clip(message string) string {
	const most = 200
	if runes := []rune(message); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return message
}
