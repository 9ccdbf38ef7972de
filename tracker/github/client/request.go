package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/symphony-runner/symphony/internal/transport"
)

// Request is a request to the REST API.
type Request struct {
	Method     string // empty for GET
	Path       string // escaped, below the root of the API; or an address there
	Permission Permission
	Body       any    // sent as JSON; nil for none
	ETag       string // ETag of the known answer; the status 304 is an error then
	Accept     string // empty for JSON
	Repeatable bool   // may be sent twice, though it is not a GET
}

// Path returns a path below the repository, for [Request]. The arguments must be
// escaped.
func (c *Client) Path(format string, args ...any) string {
	return "repos/" + c.repo + fmt.Sprintf(format, args...)
}

// Do sends a request and returns GitHub's answer.
func (c *Client) Do(ctx context.Context, r Request) (transport.Answer, error) {
	req, err := c.NewRequest(ctx, r)
	if err != nil {
		return transport.Answer{}, fmt.Errorf("make the request: %w", err)
	}
	a, err := c.Transport.Do(req)
	return a, c.explain(err, r.Permission)
}

// NewRequest returns a request as [Client.Do] sends it, without the token.
func (c *Client) NewRequest(ctx context.Context, r Request) (*http.Request, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = json.Marshal(r.Body); err != nil {
			return nil, err
		}
	}
	at := r.Path
	if !strings.HasPrefix(at, c.root+"/") {
		at = c.root + "/" + at
	}
	if r.Repeatable {
		ctx = transport.Repeatable(ctx)
	}
	req, err := http.NewRequestWithContext(ctx, cmp.Or(r.Method, http.MethodGet), at, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", cmp.Or(r.Accept, "application/vnd.github+json"))
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.ETag != "" {
		req.Header.Set("If-None-Match", r.ETag)
	}
	return req, nil
}

// Decode reads an answer, which must be JSON, into v.
func (c *Client) Decode(a transport.Answer, v any) error { return c.explain(a.Decode(v), "") }

// call sends a request and returns the decoded answer. An answer of null is the
// zero value.
func call[T any](ctx context.Context, c *Client, r Request) (T, error) {
	var v T
	a, err := c.Do(ctx, r)
	if err == nil {
		err = c.Decode(a, &v)
	}
	return v, err
}

// send sends a request whose answer says no more than that it was carried out.
func (c *Client) send(ctx context.Context, r Request) error {
	_, err := c.Do(ctx, r)
	return err
}

// get reads a path below the repository.
func get[T any](ctx context.Context, c *Client, p Permission, format string, args ...any) (T, error) {
	return call[T](ctx, c, Request{Path: c.Path(format, args...), Permission: p})
}

// escape escapes each part of a path.
func escape(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}
