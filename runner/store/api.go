package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"
)

const defaultAPI = "https://api.github.com"

// api asks one repository of GitHub: the library over our own wire.
type api struct {
	library
	owner, name string
	wire        *wire
}

var repoName = regexp.MustCompile(`^[A-Za-z0-9_-]+/[A-Za-z0-9._-]+$`)

func newAPI(repo, address, token string, base *http.Client) (*api, error) {
	owner, name, _ := strings.Cut(repo, "/")
	if !repoName.MatchString(repo) || name == "." || name == ".." {
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
		return nil, fmt.Errorf("%w: the address of the API is no plain URL: write one such as %s", ErrRefused, defaultAPI)
	}
	w := &wire{base: base.Transport, token: token, repo: repo, root: root, timeout: 30 * time.Second, pause: 500 * time.Millisecond}
	if w.base == nil {
		w.base = http.DefaultTransport
	}
	client := *base
	client.Transport = w
	hub := github.NewClient(&client).WithAuthToken(token)
	hub.BaseURL, hub.UserAgent = u, "symphony"
	return &api{library: newLibrary(hub), owner: owner, name: name, wire: w}, nil
}

// explain is the error of a call of the library, for people: op is what it was
// for. It is a [refusal], [errUnanswered], or another [ErrUnavailable].
func (a *api) explain(ctx context.Context, op string, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok { // names an address that says nothing more
		err = wrapped.Err
	}
	r, refused := errors.AsType[*refusal](err)
	switch {
	case err == nil:
		return nil
	case refused:
		r.op = op
		return r
	case errors.Is(err, ErrUnavailable):
		return fmt.Errorf("%s: %w", op, err)
	case ctx.Err() != nil: // the library tells no cause
		return fmt.Errorf("%s: %w: %w: try again", op, errUnanswered, context.Cause(ctx))
	}
	return fmt.Errorf("%s: %w: this is not what GitHub answers: %w: see that %s is right", op, errUnanswered, err, a.wire.root)
}

// errShape is an answer in which something is missing.
var errShape = errors.New("a part is missing")

// object is the name of a git object that GitHub tells of.
func (a *api) object(ctx context.Context, op, sha string, err error) (string, error) {
	if err == nil && !objectName.MatchString(sha) {
		err = errShape
	}
	if err != nil {
		return "", a.explain(ctx, op, err)
	}
	return sha, nil
}

// repository is what GitHub knows of the repository.
func (a *api) repository(ctx context.Context) (*github.Repository, error) {
	r, _, err := a.getRepository(ctx, a.owner, a.name)
	if err == nil && r.GetNodeID() == "" && r.GetDefaultBranch() != "" { // as of Gitea and Forgejo
		return nil, fmt.Errorf("read the repository: %w: the server at %s lacks GitHub's git API: use `state: cache` (--state cache:PATH)", ErrRefused, a.wire.root)
	}
	if err == nil && (r.GetNodeID() == "" || r.GetDefaultBranch() == "") {
		err = errShape
	}
	return r, a.explain(ctx, "read the repository", err)
}
