// Package client makes the program's requests to GitHub: the requests of the tracker and of
// the state branch, and requests about workflow runs.
//
// A [Client] is about one repository, and its parts are about subjects: [Client.Pulls],
// [Client.Checks] and so on. A request to the REST API is one method with the permission that
// it needs, its path, and the type of its answer, most of them go-github's; GraphQL queries go
// through [Client.Query], which writes them from the struct that takes the answer. Package
// transport has the rules for every request (the token, retries, limits). address.go relates the
// addresses of servers, of their APIs and of repositories.
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
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/google/go-github/v62/github"
	"github.com/shurcooL/graphql"

	"github.com/symphony-runner/symphony/internal/transport"
)

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

	Git       Git
	Issues    Issues
	Pulls     Pulls
	Checks    CheckRuns
	Artifacts Artifacts
	Rules     Rules

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
	c.Git, c.Issues, c.Pulls, c.Checks, c.Artifacts, c.Rules = Git{c}, Issues{c}, Pulls{c}, CheckRuns{c}, Artifacts{c}, Rules{c}
	return c, nil
}

// Repo returns the repository as owner/name.
func (c *Client) Repo() string { return c.repo }

// Server returns the address of the server that has the repository.
func (c *Client) Server() string { return ServerOf(c.root) }

// Repository holds the settings of a repository.
type Repository = github.Repository

// Repository reads the settings of the repository; never nil without an error.
func (c *Client) Repository(ctx context.Context) (*Repository, error) {
	r, err := get[Repository](ctx, c, ReadMetadata, "")
	return &r, err
}
