package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/symphony-runner/symphony/internal/transport"
)

// graphqlURL returns the address of the GraphQL API of a REST root: beside v3 on an
// Enterprise server, below the root elsewhere.
func graphqlURL(root string) string {
	if server, ok := strings.CutSuffix(root, "/api/v3"); ok {
		return server + "/api/graphql"
	}
	return root + "/graphql"
}

// Query sends a query to the GraphQL API, for reading only. A part that GitHub reports as not
// found is null in the data, and so is a part that the token may not see inside a node; the
// caller distinguishes them. Any other error fails the query: an outage must never look like an
// empty answer.
func (c *Client) Query(ctx context.Context, p Permission, into any, variables map[string]any) error {
	return c.explainGraphQL(ctx, p, c.graph.Query(transport.Repeatable(ctx), into, variables))
}

// Mutate sends a mutation to the GraphQL API that does the same when it is sent twice. Its
// result is null in the data if the named object does not exist for the token.
func (c *Client) Mutate(ctx context.Context, p Permission, into any, variables map[string]any) error {
	return c.explainGraphQL(ctx, p, c.graph.Mutate(transport.Repeatable(ctx), into, variables))
}

// mutateOnce sends a mutation to the GraphQL API once.
func (c *Client) mutateOnce(ctx context.Context, p Permission, into any, variables map[string]any) error {
	return c.explainGraphQL(ctx, p, c.graph.Mutate(ctx, into, variables))
}

// explainGraphQL completes the error of the GraphQL library; nil stays nil.
func (c *Client) explainGraphQL(ctx context.Context, p Permission, err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*transport.Error](err)
	switch {
	case ctx.Err() != nil: // the library keeps the fact alone
		e = transport.Interrupted(ctx)
	case !ok:
		e = &transport.Error{Kind: transport.Unreadable, Reason: c.Transport.Quote(err.Error())}
	}
	return c.explain(e, p)
}

// graphqlTripper is the http.RoundTripper between the GraphQL library and the
// transport. The library fails on any error and knows only its message, and it takes
// an answer without data for an empty one. So this one judges the errors, and passes
// on answers that have data and nothing beside it.
type graphqlTripper struct{ t *transport.Transport }

func (g graphqlTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	a, err := g.t.Do(req)
	if err != nil {
		return nil, err
	}
	forbidden, _ := req.Context().Value(forbiddenKey{}).(*forbiddenPaths)
	data, err := g.dataOf(a, forbidden)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: a.Status, Header: a.Header, Body: io.NopCloser(bytes.NewReader(data)), Request: req}, nil
}

// dataOf returns an answer without the errors that only explain a null in its data. It
// adds the places that the token may not see to forbidden, unless that is nil: then each
// of them fails the query.
func (g graphqlTripper) dataOf(a transport.Answer, forbidden *forbiddenPaths) ([]byte, error) {
	// Nearly every answer has only data, and may be long. So the key "errors" is searched
	// for first: inside a text its quotation marks would be escaped.
	if a.IsJSON() && bytes.HasPrefix(a.Body, []byte(`{"data":{`)) && !bytes.Contains(a.Body, []byte(`"errors"`)) {
		return a.Body, nil
	}
	var reply struct {
		Data   json.RawMessage `json:"data"`
		Errors []queryError    `json:"errors,omitempty"`
	}
	if err := a.Decode(&reply); err != nil {
		return nil, err
	}
	var unseen forbiddenPaths
	for _, e := range reply.Errors {
		switch {
		case forbidden != nil && e.Type == "FORBIDDEN" && len(e.Path) > 2:
			unseen = append(unseen, e.Path)
		case e.explainsNull():
		case e.Type == "RATE_LIMITED" || e.Type == "RATE_LIMIT":
			return nil, &transport.Error{Kind: transport.RateLimited, Answer: a, Wait: untilReset(a), Reason: "the token's rate limit is used up"}
		case e.Type == "FORBIDDEN" || e.Type == "INSUFFICIENT_SCOPES":
			return nil, &transport.Error{Kind: transport.Refused, Answer: forbiddenAnswer(e.Message)}
		default:
			return nil, unreadable("the query failed" + g.t.Says("GitHub", e.Message))
		}
	}
	if len(reply.Data) == 0 || string(reply.Data) == "null" {
		return nil, unreadable("the answer has no data")
	}
	if forbidden != nil {
		*forbidden = unseen
	}
	reply.Errors = nil
	return json.Marshal(reply)
}

// forbiddenAnswer returns the answer of the REST API that says the same as an error of
// GraphQL.
func forbiddenAnswer(text string) transport.Answer {
	body, _ := json.Marshal(map[string]string{"message": text}) // a string can always be encoded
	return transport.Answer{Status: http.StatusForbidden, Body: body}
}

func unreadable(reason string) error {
	return &transport.Error{Kind: transport.Unreadable, Reason: reason, Remedy: "try again later"}
}

type queryError struct {
	Type    string
	Message string
	Path    []any
}

// explainsNull reports whether the error only explains a null in the data.
func (e queryError) explainsNull() bool {
	inNode := len(e.Path) > 2 && e.Path[0] == "nodes"
	return len(e.Path) > 0 && e.Type == "NOT_FOUND" || inNode && e.Type == "FORBIDDEN"
}
