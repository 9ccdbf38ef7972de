package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/google/go-github/v62/github"
)

const defaultAPI = "https://api.github.com"

// client makes the requests about one repository: go-github's methods over our
// own transport.
type client struct {
	githubMethods
	owner, name string
	transport   *transport
}

// githubMethods holds the methods of go-github that this package uses, and not
// the client itself. Of every type that a value in an interface can reach, the
// linker keeps all methods, and a client reaches the whole API of GitHub, which
// would make the program a tenth larger.
type githubMethods struct {
	newRequest func(method, url string, body any, opts ...github.RequestOption) (*http.Request, error)
	do         func(ctx context.Context, req *http.Request, v any) (*github.Response, error)

	getRepository func(ctx context.Context, owner, repo string) (*github.Repository, *github.Response, error)
	getRef        func(ctx context.Context, owner, repo, ref string) (*github.Reference, *github.Response, error)
	createRef     func(ctx context.Context, owner, repo string, ref *github.Reference) (*github.Reference, *github.Response, error)
	updateRef     func(ctx context.Context, owner, repo string, ref *github.Reference, force bool) (*github.Reference, *github.Response, error)
	createTree    func(ctx context.Context, owner, repo, baseTree string, entries []*github.TreeEntry) (*github.Tree, *github.Response, error)
	createCommit  func(ctx context.Context, owner, repo string, commit *github.Commit, opts *github.CreateCommitOptions) (*github.Commit, *github.Response, error)
	listCommits   func(ctx context.Context, owner, repo string, opts *github.CommitsListOptions) ([]*github.RepositoryCommit, *github.Response, error)
	getAttempt    func(ctx context.Context, owner, repo string, run int64, attempt int, opts *github.WorkflowRunAttemptOptions) (*github.WorkflowRun, *github.Response, error)
	listRuns      func(ctx context.Context, owner, repo string, opts *github.ListWorkflowRunsOptions) (*github.WorkflowRuns, *github.Response, error)
	listJobs      func(ctx context.Context, owner, repo string, run, attempt int64, opts *github.ListOptions) (*github.Jobs, *github.Response, error)
}

func newGithubMethods(c *github.Client) githubMethods {
	return githubMethods{
		newRequest: c.NewRequest, do: c.Do,
		getRepository: c.Repositories.Get, getRef: c.Git.GetRef, createRef: c.Git.CreateRef, updateRef: c.Git.UpdateRef,
		createTree: c.Git.CreateTree, createCommit: c.Git.CreateCommit, listCommits: c.Repositories.ListCommits,
		getAttempt: c.Actions.GetWorkflowRunAttempt, listRuns: c.Actions.ListRepositoryWorkflowRuns, listJobs: c.Actions.ListWorkflowJobsAttempt,
	}
}

var (
	repoNamePattern   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]+/[A-Za-z0-9._-]+$`) })
	objectNamePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`) }) // of git: SHA-1 or SHA-256
)

// newClient returns a client for the repository, given as owner/name, at the
// address of a REST API; empty means github.com's. It sends no request.
func newClient(repo, address, token string, base *http.Client) (*client, error) {
	owner, name, _ := strings.Cut(repo, "/")
	if !repoNamePattern().MatchString(repo) || name == "." || name == ".." {
		return nil, fmt.Errorf("%w: repository %.100q: write it as owner/name", ErrRefused, repo)
	}
	if token == "" {
		return nil, fmt.Errorf("%w: there is no token: set GITHUB_TOKEN", ErrRefused)
	}
	if address == "" {
		address = defaultAPI
	}
	root := strings.TrimRight(address, "/")
	u, err := url.Parse(root + "/")
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%w: the address of the API is not a plain URL: write one such as %s", ErrRefused, defaultAPI)
	}
	t := &transport{base: base.Transport, token: token, repo: repo, apiRoot: root, timeout: 30 * time.Second, retryPause: 500 * time.Millisecond}
	if t.base == nil {
		t.base = http.DefaultTransport
	}
	own := *base
	own.Transport = t
	gh := github.NewClient(&own).WithAuthToken(token)
	gh.BaseURL, gh.UserAgent = u, "symphony"
	return &client{githubMethods: newGithubMethods(gh), owner: owner, name: name, transport: t}, nil
}

// wrapError returns the error of a go-github call in a form for people, nil for
// nil; op names the operation. The result is a [statusError], [errUnanswered], or
// another [ErrUnavailable].
func (c *client) wrapError(ctx context.Context, op string, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok { // it adds an address, which explains nothing
		err = wrapped.Err
	}
	bad, isBad := errors.AsType[*statusError](err)
	switch {
	case err == nil:
		return nil
	case isBad:
		bad.op = op
		return bad
	case errors.Is(err, ErrUnavailable):
		return fmt.Errorf("%s: %w", op, err)
	case ctx.Err() != nil: // go-github drops the cause
		return fmt.Errorf("%s: %w: %w: try again", op, errUnanswered, context.Cause(ctx))
	}
	return fmt.Errorf("%s: %w: this is not what GitHub answers: %w: see that %s is right", op, errUnanswered, err, c.transport.apiRoot)
}

// errIncomplete reports an answer that lacks a field we need.
var errIncomplete = errors.New("a part is missing")

// checkedObject returns the name of a git object from an answer, or an error if
// the request failed or sha is not the name of an object.
func (c *client) checkedObject(ctx context.Context, op, sha string, err error) (string, error) {
	if err == nil && !objectNamePattern().MatchString(sha) {
		err = errIncomplete
	}
	if err != nil {
		return "", c.wrapError(ctx, op, err)
	}
	return sha, nil
}

// readRepository reads the repository's settings, with its default branch. It
// refuses servers that only resemble GitHub.
func (c *client) readRepository(ctx context.Context) (*github.Repository, error) {
	r, _, err := c.getRepository(ctx, c.owner, c.name)
	if err == nil && r.GetNodeID() == "" && r.GetDefaultBranch() != "" { // Gitea and Forgejo answer so
		return nil, fmt.Errorf("read the repository: %w: the server at %s lacks GitHub's git API: use `state: cache` (--state cache:PATH)", ErrRefused, c.transport.apiRoot)
	}
	if err == nil && (r.GetNodeID() == "" || r.GetDefaultBranch() == "") {
		err = errIncomplete
	}
	return r, c.wrapError(ctx, "read the repository", err)
}
