package store

import (
	"context"
	"net/http"

	"github.com/google/go-github/v62/github"
)

// library is what this package takes of go-github: some methods, and not the
// client itself. Of every type that a value in an interface can reach, the linker
// keeps all methods, and a client reaches the whole API of GitHub, which would
// make the program a tenth larger.
type library struct {
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

func newLibrary(c *github.Client) library {
	return library{
		newRequest: c.NewRequest, do: c.Do,
		getRepository: c.Repositories.Get, getRef: c.Git.GetRef, createRef: c.Git.CreateRef, updateRef: c.Git.UpdateRef,
		createTree: c.Git.CreateTree, createCommit: c.Git.CreateCommit, listCommits: c.Repositories.ListCommits,
		getAttempt: c.Actions.GetWorkflowRunAttempt, listRuns: c.Actions.ListRepositoryWorkflowRuns, listJobs: c.Actions.ListWorkflowJobsAttempt,
	}
}
