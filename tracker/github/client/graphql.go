package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/shurcooL/graphql"

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

// Mutation is a change by the GraphQL API.
type Mutation struct {
	Permission Permission
	Name       string // field of the mutation
	Input      any    // of a type with the name of GitHub's
	Object     string // field of the result with the object that is changed
	Unseen     string // the error if there is no such object, or if the token may not change it
	Once       bool   // it is not to be sent twice
}

// Unseen is the error of a [Mutation] that did not find what to change.
type Unseen string

func (u Unseen) Error() string { return string(u) }

// Mutate carries out a mutation and returns the id of the object that it changed. The query
// is written from this type:
//
//	struct {
//		Result *struct {
//			Object *struct{ ID string } `graphql:"OBJECT"`
//		} `graphql:"NAME(input: $input)"`
//	}
func (c *Client) Mutate(ctx context.Context, m Mutation) (id string, err error) {
	if !m.Once {
		ctx = transport.Repeatable(ctx)
	}
	result := reflect.StructOf([]reflect.StructField{queryField("Object", m.Object, reflect.TypeFor[*struct{ ID string }]())})
	data := reflect.New(reflect.StructOf([]reflect.StructField{queryField("Result", m.Name+"(input: $input)", reflect.PointerTo(result))}))
	if err := c.mutate(ctx, m.Permission, data.Interface(), m.Input); err != nil {
		return "", err
	}
	if done := data.Elem().Field(0); !done.IsNil() {
		if object, _ := done.Elem().Field(0).Interface().(*struct{ ID string }); object != nil {
			return object.ID, nil
		}
	}
	return "", Unseen(m.Unseen)
}

// mutate sends a mutation with its input.
func (c *Client) mutate(ctx context.Context, p Permission, into, input any) error {
	return c.explainGraphQL(ctx, p, c.graph.Mutate(ctx, into, map[string]any{"input": input}))
}

// queryField returns the field of a struct that takes the answer to a part of a query.
func queryField(name, query string, of reflect.Type) reflect.StructField {
	return reflect.StructField{Name: name, Type: of, Tag: reflect.StructTag(fmt.Sprintf("graphql:%q", query))}
}

// maxNumbers bounds the issues or pull requests of one query.
const maxNumbers = 100

// byNumber calls take with the issues, or the pull requests, that have these numbers. query
// sends a query of this type:
//
//	struct {
//		Repository *struct {
//			N12 *T `graphql:"n12: issue(number: 12)"`
//			…
//		} `graphql:"repository(owner: $owner, name: $name)"`
//	}
func byNumber[T any](c *Client, field string, numbers []int, query func(into any, variables map[string]any) error, take func(*T)) error {
	read := func(part []int) error {
		fields := make([]reflect.StructField, len(part))
		for i, n := range part {
			fields[i] = queryField(fmt.Sprintf("N%d", n), fmt.Sprintf("n%d: %s(number: %d)", n, field, n), reflect.TypeFor[*T]())
		}
		repository := queryField("Repository", "repository(owner: $owner, name: $name)", reflect.PointerTo(reflect.StructOf(fields)))
		data := reflect.New(reflect.StructOf([]reflect.StructField{repository}))
		if err := query(data.Interface(), c.repositoryVariables()); err != nil {
			return err
		}
		found := data.Elem().Field(0)
		if found.IsNil() {
			return c.unseen()
		}
		for i := range part {
			if one, _ := found.Elem().Field(i).Interface().(*T); one != nil {
				take(one)
			}
		}
		return nil
	}
	for part := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(numbers))), maxNumbers) {
		if err := InHalves(part, read); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) repositoryVariables() map[string]any {
	owner, name, _ := strings.Cut(c.repo, "/")
	return map[string]any{"owner": graphql.String(owner), "name": graphql.String(name)}
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
