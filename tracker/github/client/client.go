// Package client makes the program's requests to GitHub: the requests of the tracker and of
// the state branch, and requests about workflow runs.
//
// A [Client] is about one repository. A request to the REST API is one method with
// the permission that it needs, its path, and the type of its answer, most of them
// go-github's; GraphQL queries go through [Client.Query], which writes them from the
// struct that takes the answer. Package transport has the rules for every request (the token,
// retries, limits). address.go relates the addresses of servers, of their
// APIs and of repositories.
//
// Every failure is a [transport.Error] with GitHub's answer and, in the words of the
// settings, the remedy: the permission that is missing, in the syntax of a workflow, or the
// setting that names the wrong repository (status.go). The users of the package map its kind
// to their own categories. Where a token may read a part alone, the answer has a [Lack] for
// each of the others.
//
// Of go-github this package uses only the types. Its client refuses requests by its own
// record of the rate limits, follows redirects, drops the cause of a context, and treats
// an answer of null as an empty one.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/shurcooL/graphql"

	"github.com/symphony-runner/symphony/internal/transport"
)

// DefaultAPI is the root of github.com's REST API.
const DefaultAPI = "https://api.github.com"

// Config holds the settings of a Client.
type Config struct {
	Repo   string       // owner/name
	APIURL string       // root of the REST API; empty for github.com's
	Token  string       // sent as a Bearer token
	Log    *slog.Logger // log of repeated requests; nil for none
	Names  Names        // names of the three settings above
	// Tokens returns the token of a request in place of Token, as [App.Token] does; nil
	// if there is a Token.
	Tokens func(context.Context) (string, error)
	// Content is the pace of posts and other new content, which the clients of an account have
	// in common; nil for a pace of this client alone.
	Content *transport.Pace
}

// Names holds the names of the settings in errors. For an empty one the errors name the
// environment variable of GitHub Actions.
type Names struct{ Repo, APIURL, Token string }

// Client makes requests about one repository. Any number of goroutines may use it.
type Client struct {
	Transport *transport.Transport

	repo  string // owner/name
	root  string // address of the REST API, without a slash at its end
	names Names
	graph *graphql.Client
	pages transport.Pages // further pages of comments

	content *transport.Pace // pace of requests that create content
}

// New returns a Client. It checks the settings, and sends no request. A nil base is
// http.DefaultTransport.
func New(cfg Config, base http.RoundTripper) (*Client, error) {
	authorization := "Bearer " + cfg.Token
	switch {
	case cfg.Tokens != nil:
		authorization = ""
	case cfg.Token == "":
		return nil, fmt.Errorf("there is no token: set %s", cmp.Or(cfg.Names.Token, "GITHUB_TOKEN"))
	}
	c, err := open(cfg, authorization, base)
	if err == nil && cfg.Tokens != nil {
		c.Transport.Authorize = func(ctx context.Context) (string, error) {
			token, err := cfg.Tokens(ctx)
			return "Bearer " + token, err
		}
	}
	return c, err
}

// open returns a Client that sends an authorization, which may be empty.
func open(cfg Config, authorization string, base http.RoundTripper) (*Client, error) {
	names := Names{cmp.Or(cfg.Names.Repo, "GITHUB_REPOSITORY"), cmp.Or(cfg.Names.APIURL, "GITHUB_API_URL"), cmp.Or(cfg.Names.Token, "GITHUB_TOKEN")}
	root, err := ParseAPIURL(cmp.Or(cfg.APIURL, DefaultAPI))
	switch {
	case !IsRepo(cfg.Repo):
		return nil, fmt.Errorf("%s is %.100q: write it as owner/name", names.Repo, cfg.Repo)
	case err != nil:
		return nil, fmt.Errorf("%s %w", names.APIURL, err)
	}
	t, err := transport.New(root, authorization, base)
	if err != nil {
		return nil, fmt.Errorf("%s %w", names.APIURL, err)
	}
	t.Limited = rateLimit
	if cfg.Log != nil {
		t.Log = cfg.Log
	}
	c := &Client{Transport: t, repo: cfg.Repo, root: root, names: names, content: cfg.Content}
	if c.content == nil {
		c.content = NewContentPace(0)
	}
	c.graph = graphql.NewClient(graphqlURL(root), &http.Client{Transport: graphqlTripper{t}})
	return c, nil
}

// Repo returns the repository as owner/name.
func (c *Client) Repo() string { return c.repo }

// Server returns the address of the server that has the repository.
func (c *Client) Server() string { return ServerOf(c.root) }

// repoPattern matches owner/name as GitHub allows it, except that a name of dots
// alone is refused separately.
var repoPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9._-]+$`) })

// IsRepo reports whether s can be the owner/name of a repository.
func IsRepo(s string) bool {
	return repoPattern().MatchString(s) && !strings.HasSuffix(s, "/.") && !strings.HasSuffix(s, "/..")
}

// APIURLForm describes the setting that [ParseAPIURL] reads.
const APIURLForm = "the root of the REST API, as in https://ghe.example.org/api/v3 (http is for a loopback address alone)"

// ParseAPIURL returns the root of a REST API without a slash at its end. It fails
// with text that continues the name of the setting.
func ParseAPIURL(address string) (string, error) {
	u, err := transport.ParseAddress(address)
	if err == nil && (u.RawQuery != "" || u.Fragment != "") {
		err = errors.New("is not a plain URL")
	}
	if err != nil {
		return "", fmt.Errorf("%w: write %s", err, APIURLForm)
	}
	return strings.TrimRight(address, "/"), nil
}

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

// get reads a path below the repository.
func get[T any](ctx context.Context, c *Client, p Permission, format string, args ...any) (T, error) {
	return call[T](ctx, c, Request{Path: c.Path(format, args...), Permission: p})
}

// ErrPages reports pages of a list that do not fit together.
var ErrPages = errors.New("the pages do not fit together")

// maxPages is more than a list can have that is not a mistake.
const maxPages = 5000

// list reads all pages of a list below the repository.
func list[T any](ctx context.Context, c *Client, p Permission, path string) ([]T, error) {
	var all []T
	err := c.Walk(c.Path("%s", path), func(at string) (next string, err error) {
		a, err := c.Do(ctx, Request{Path: at, Permission: p})
		if err != nil {
			return "", err
		}
		var page []T
		if err := c.Decode(a, &page); err != nil {
			return "", err
		}
		all = append(all, page...)
		return Next(a), nil
	})
	return all, err
}

// Walk calls read for the pages of a list, beginning with the first: read returns
// the address of the next page, see [Next]. When it fails because a page is too long, since
// anybody may write long texts, Walk goes on with smaller pages. Walk fails with [ErrPages]
// if the next page is outside of the API, or leads back.
func (c *Client) Walk(first string, read func(at string) (next string, err error)) error {
	seen := make(map[string]bool)
	for at := first; at != ""; {
		if seen[at] || len(seen) == maxPages {
			return pagesError(fmt.Sprintf("page %d leads back to one before it", len(seen)), "try again later")
		}
		seen[at] = true
		next, err := read(at)
		if smaller := smallerPage(at); smaller != "" && errors.Is(err, transport.ErrTooLong) {
			at = smaller
			continue
		}
		if err != nil {
			return err
		}
		if next != "" && !strings.HasPrefix(next, c.root+"/") {
			return pagesError(fmt.Sprintf("the next page %s is not on %s", c.Transport.Quote(next), c.root), "check "+c.names.APIURL)
		}
		at = next
	}
	return nil
}

// The numbers of items that a list is asked for. With the smaller one, a page of items of
// the greatest length, escaped, is not too long.
const (
	pageSize      = 100
	smallPageSize = 10
)

// smallerPage returns the address of the first part of a page; "" if the page has no parts.
func smallerPage(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		return ""
	}
	q := u.Query()
	if q.Get("per_page") != strconv.Itoa(pageSize) {
		return ""
	}
	q.Set("per_page", strconv.Itoa(smallPageSize))
	number, err := strconv.Atoi(q.Get("page"))
	switch {
	case q.Has("after"): // the place, of which the number says nothing with other pages
		q.Del("page")
	case err == nil && number > 0:
		q.Set("page", strconv.Itoa((number-1)*pageSize/smallPageSize+1))
	}
	u.RawQuery = q.Encode()
	return u.String()
}

func pagesError(reason, remedy string) error {
	return &transport.Error{Kind: transport.Unreadable, Reason: reason, Remedy: remedy, Err: ErrPages}
}

// Next returns the address of the page after an answer, "" after the last one.
func Next(a transport.Answer) string {
	for _, line := range a.Header.Values("Link") {
		for link := range strings.SplitSeq(line, ",") {
			target, attributes, _ := strings.Cut(strings.TrimSpace(link), ";")
			if strings.Contains(attributes, `rel="next"`) && strings.HasPrefix(target, "<") && strings.HasSuffix(target, ">") {
				return target[1 : len(target)-1]
			}
		}
	}
	return ""
}

// escape escapes each part of a path.
func escape(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}
