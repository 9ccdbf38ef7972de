package github

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/shurcooL/graphql"
	"github.com/symphony-runner/symphony/tracker"
)

// maxNodes is how many nodes GitHub gives for one query by id.
const maxNodes = 100

// query asks the GraphQL API, for reading alone. What GitHub reports as not
// found is null in the data, and so is what the token may not see deep inside a
// node; both are the caller's to judge. Any other error fails the query: an
// outage must never look like an empty answer.
func (r *repository) query(ctx context.Context, op, permission string, into any, variables map[string]any) error {
	if err := r.graph.Query(ctx, into, variables); err != nil {
		return r.failed(ctx, op, permission, err)
	}
	return nil
}

// nodeIDs returns a variable of the type [ID!]!.
func nodeIDs(ids []string) []graphql.ID {
	list := make([]graphql.ID, len(ids))
	for i, id := range ids {
		list[i] = id
	}
	return list
}

// graph is the http.RoundTripper between the GraphQL client and the wire. The
// client fails on any error and knows only its message, and it takes an answer
// without data for an empty one. So this one judges the errors, and passes on
// answers that have data and nothing beside it.
type graph struct{ wire *wire }

func (g graph) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := g.wire.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body) // from memory
	if err != nil {
		return nil, err
	}
	data, err := dataOf(answer{resp.StatusCode, resp.Header, body})
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return resp, nil
}

// dataOf returns an answer without the errors that only explain a null in its data.
func dataOf(a answer) ([]byte, error) {
	// Nearly every answer is plainly data alone, and may be long. A text that
	// speaks of errors has its quotation marks escaped.
	if a.json() && bytes.HasPrefix(a.body, []byte(`{"data":{`)) && !bytes.Contains(a.body, []byte(`"errors"`)) {
		return a.body, nil
	}
	var reply struct {
		Data   json.RawMessage `json:"data"`
		Errors []queryError    `json:"errors,omitempty"`
	}
	if err := a.decode(&reply); err != nil {
		return nil, err
	}
	for _, e := range reply.Errors {
		switch {
		case e.absent():
		case e.Type == "RATE_LIMITED" || e.Type == "RATE_LIMIT":
			return nil, &tracker.RateLimitError{RetryAfter: untilReset(a.header, time.Now())}
		case e.Type == "FORBIDDEN" || e.Type == "INSUFFICIENT_SCOPES":
			return nil, &statusError{answer: answer{status: http.StatusForbidden}, says: e.Message}
		default:
			return nil, fmt.Errorf("%w: the query failed%s: try again later", tracker.ErrResponse, says(e.Message))
		}
	}
	if len(reply.Data) == 0 || string(reply.Data) == "null" {
		return nil, fmt.Errorf("%w: the answer has no data: try again later", tracker.ErrResponse)
	}
	reply.Errors = nil
	return json.Marshal(reply)
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
