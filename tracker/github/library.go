package github

import (
	"context"
	"net/http"

	gh "github.com/google/go-github/v62/github"
)

// library is what the adapter takes of go-github: some methods, and not the
// client itself. Of every type that a value in an interface can reach, the linker
// keeps all methods, and a client reaches the whole API of GitHub, which would
// make the program a tenth larger.
type library struct {
	newRequest     func(method, url string, body any, opts ...gh.RequestOption) (*http.Request, error)
	do             func(ctx context.Context, req *http.Request, v any) (*gh.Response, error)
	listLabels     func(ctx context.Context, owner, repo string, opts *gh.ListOptions) ([]*gh.Label, *gh.Response, error)
	getRepository  func(ctx context.Context, owner, repo string) (*gh.Repository, *gh.Response, error)
	compareCommits func(ctx context.Context, owner, repo, base, head string, opts *gh.ListOptions) (*gh.CommitsComparison, *gh.Response, error)
}

func newLibrary(w *wire) library {
	c := gh.NewClient(&http.Client{Transport: w})
	c.BaseURL = w.api
	return library{
		newRequest: c.NewRequest, do: c.Do, listLabels: c.Issues.ListLabels, getRepository: c.Repositories.Get,
		compareCommits: c.Repositories.CompareCommits,
	}
}
