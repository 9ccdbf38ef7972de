package wiring

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/publish"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// Repository returns the repository from which the sessions of a workflow get their files and
// to which their work goes; nil when its hooks do both.
func (o Opener) Repository(ctx context.Context, wf workflow.Workflow, log *slog.Logger) (*runner.Repository, error) {
	if wf.Settings.Repository == nil {
		return nil, nil
	}
	return o.RepositoryIn(ctx, DataFolder(wf.Path), wf, log)
}

// RepositoryIn returns the repository of a workflow that has one, with its files in a
// folder.
func (o Opener) RepositoryIn(ctx context.Context, data string, wf workflow.Workflow, log *slog.Logger) (*runner.Repository, error) {
	s := wf.Settings
	if name := o.State.BranchName(); name != "" && strings.HasPrefix(name, s.Repository.BranchPrefix) {
		return nil, fmt.Errorf("%w: %s begins with repository.branch_prefix %s of %s, so an issue could have the branch of the state: change one of them",
			ErrUsage, o.State.StateOption(), s.Repository.BranchPrefix, filepath.Base(wf.Path))
	}
	host, err := o.GitHost(ctx, data, wf, log)
	if err == nil {
		err = host.CanCheckOut(s.Repository.Paths)
	}
	if err != nil {
		return nil, err
	}
	remote, err := o.remote(wf, log)
	if err != nil {
		return nil, err
	}
	publisher, err := o.Publisher(wf, log)
	if err != nil {
		return nil, err
	}
	r := &runner.Repository{
		Host: host, Remote: remote, Publisher: publisher,
		Source: git.Source{
			Base: s.Repository.Base, Prefix: s.Repository.BranchPrefix,
			Submodules: s.Repository.Submodules, Paths: s.Repository.Paths, LFS: s.Repository.LFS,
		},
		User: o.Author(), Closing: closingLine(wf), Kept: filepath.Join(data, "refused"),
		Preparations: attempt.NewPreparations(filepath.Join(data, "setup")),
	}
	if folder, ok := o.Getenv("GITHUB_WORKSPACE"); ok && o.Actions.InActions() && s.Repository.Remote == o.ownURL() {
		r.Source.Seed = folder
	}
	return r, nil
}

// remote returns the repository of a workflow that has one, with the token for it.
func (o Opener) remote(wf workflow.Workflow, log *slog.Logger) (git.Remote, error) {
	r := wf.Settings.Repository
	remote, err := git.ParseRemote(r.Remote, git.Token(r.Token))
	if err != nil {
		return git.Remote{}, err
	}
	tokens, err := o.Token(wf, log)
	if err == nil && tokens != nil {
		remote = remote.WithTokens(gitTokens(tokens))
	}
	return remote, err
}

// GitHost opens git, whose stores are below a data folder.
func (p Process) GitHost(ctx context.Context, data string, wf workflow.Workflow, log *slog.Logger) (*git.Host, error) {
	return git.Open(ctx, git.Config{
		Dir: filepath.Join(data, "repositories"), Workspaces: wf.Settings.Workspace.Root, Env: p.Environ, Log: log,
	})
}

// Publisher returns the publisher of the work of a workflow; nil for none.
func (o Opener) Publisher(wf workflow.Workflow, log *slog.Logger) (*publish.Publisher, error) {
	s, d := wf.Settings, wf.Settings.Delivery
	d.Policy.Workflow = o.pathsInCheckout(wf.Path)
	if folder := IssueFolder(wf); folder != "" {
		d.Policy.Issues = o.pathsInCheckout(folder)
	}
	p := &publish.Publisher{
		Policy: d.Policy, Secrets: o.Redactor, Author: o.Author(), KeepHistory: d.KeepHistory, Verified: d.Verified,
		Pull: publish.PullRequests{Draft: d.Draft, Labels: d.Labels, Assignees: d.Assignees, Reviewers: d.Reviewers},
	}
	switch d.Kind {
	case workflow.KindNone:
		return nil, nil
	case workflow.KindPullRequest:
		p.Run, p.Listens = o.runLink(wf), true
		repo, api := o.named(s.Repository.Remote)
		tokens, err := o.Token(wf, log)
		if err != nil {
			return nil, err
		}
		p.GitHub, err = client.New(client.Config{
			Repo: repo, APIURL: api, Token: s.Repository.Token, Tokens: tokens, Log: log, Content: o.Content,
			Names: client.Names{Repo: "repository.url", APIURL: "repository.url", Token: "repository.token"},
		}, nil)
		if err != nil {
			return nil, fmt.Errorf("%w: delivery.kind pull_request: %w", workflow.ErrInvalid, err)
		}
	case workflow.KindBranch:
		p.Copies = d.Folder
	case workflow.KindPatch:
		p.Folder = d.Folder
	}
	return p, nil
}

// runLink returns the name of this run of Actions, with a link to it, in Markdown; empty outside
// of Actions.
func (o Opener) runLink(wf workflow.Workflow) string {
	if !o.Actions.InActions() {
		return ""
	}
	event, _ := o.Actions.Event() // it lacks the payload if that cannot be read
	page := o.Links(wf, event.Repository).RunPage(event.RunID, event.RunAttempt)
	if page == "" {
		return ""
	}
	return "[run " + event.RunID + "](" + page + ")"
}

// pathsInCheckout returns the paths that a file has in the checkout around it: the one by
// which it is named, and the one without links. In a job, a workspace without a .git is a
// checkout too. It returns none for a file outside of every checkout.
func (o Opener) pathsInCheckout(path string) (paths []string) {
	names := []string{path}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		names = append(names, real)
	}
	for _, name := range names {
		folder := git.CheckoutAround(name)
		if folder == "" {
			folder = o.Value("GITHUB_WORKSPACE")
		}
		if rel, err := filepath.Rel(folder, name); err == nil && folder != "" && filepath.IsLocal(rel) && !slices.Contains(paths, filepath.ToSlash(rel)) {
			paths = append(paths, filepath.ToSlash(rel))
		}
	}
	return paths
}

// closingLine returns the function that makes the line that closes an issue of the tracker
// when the work is merged; nil for a tracker that has no such line.
func closingLine(wf workflow.Workflow) func(tracker.Issue) string {
	switch wf.Settings.Tracker.Kind {
	case "github":
		in := trackerRepository(wf)
		if strings.HasSuffix(strings.TrimSuffix(wf.Settings.Repository.Remote, ".git"), "/"+in) {
			in = "" // a number alone names an issue of the same repository
		}
		return func(issue tracker.Issue) string { return fmt.Sprintf("Fixes %s#%s", in, issue.ID) }
	case "linear":
		return func(issue tracker.Issue) string { return "Fixes " + issue.Identifier }
	}
	return nil
}
