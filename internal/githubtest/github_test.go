package githubtest_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

const token = "ghs_0123456789abcdefTOKEN"

func newGitHub(t *testing.T) *githubtest.GitHub {
	return githubtest.New(t, storetest.Config{Repo: "acme/shop", Token: token})
}

// newClient returns the program's client of GitHub.
func newClient(t *testing.T, g *githubtest.GitHub) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{Repo: g.Repo(), APIURL: g.URL(), Token: token}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Transport.Pause = time.Millisecond
	return c
}

// git runs git as somebody who has the token does, in a folder.
func git(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// push pushes a commit to a branch over HTTP and returns it.
func push(t *testing.T, g *githubtest.GitHub, branch, file string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	address := strings.Replace(g.CloneURL(), "://", "://x-access-token:"+token+"@", 1)
	if out, err := git(t, dir, "clone", "--quiet", address, "clone"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	clone := filepath.Join(dir, "clone")
	if err := os.WriteFile(filepath.Join(clone, file), []byte("package shop\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"add", file}, {"commit", "--quiet", "-m", "Add " + file}} {
		if out, err := git(t, clone, args...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	head, err := git(t, clone, "rev-parse", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	out, err := git(t, clone, "push", "--quiet", "origin", "HEAD:refs/heads/"+branch)
	if err != nil {
		t.Log(out)
	}
	return head, err
}

// open opens a pull request as the program does.
func open(ctx context.Context, c *client.Client, head string) (*client.PullRequest, error) {
	title, body, base := "A cart", "It has\nwheels.", "main"
	return c.CreatePullRequest(ctx, client.NewPullRequest{Title: &title, Body: &body, Head: &head, Base: &base})
}

func TestWhatIsPushedOverHTTPIsWhatTheAPISees(t *testing.T) {
	t.Parallel()
	g := newGitHub(t)
	c := newClient(t, g)
	if _, err := open(t.Context(), c, "symphony/GH-1"); !client.HasStatus(err, http.StatusUnprocessableEntity) {
		t.Errorf("a pull request of a branch that does not exist: %v", err)
	}
	head, err := push(t, g, "symphony/GH-1", "cart.go")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"main": g.Head("main"), "symphony/GH-1": head}, g.Branches()); diff != "" {
		t.Error(diff)
	}
	pull, err := open(t.Context(), c, "symphony/GH-1")
	if err != nil || pull.GetHead().GetSHA() != head || pull.GetHTMLURL() != g.CloneURL()+"/pull/1" {
		t.Fatalf("%v: %v", pull, err)
	}
	if _, err := open(t.Context(), c, "symphony/GH-1"); !client.Says(err, "a pull request already exists") {
		t.Errorf("a second one: %v", err)
	}
	if _, err := open(t.Context(), c, "main"); !client.Says(err, "no commits between") {
		t.Errorf("one without commits: %v", err)
	}
	text := "Other\ntext."
	if _, err := c.EditPullRequest(t.Context(), 1, nil, &text); err != nil {
		t.Error(err)
	}
	for _, add := range []func() error{
		func() error { return c.AddLabels(t.Context(), 1, []string{"agent"}) },
		func() error { return c.AddAssignees(t.Context(), 1, []string{"kim"}) },
		func() error {
			return c.SetLabelsAndAssignees(t.Context(), 1, []string{"agent"}, []string{"kim"})
		},
		func() error { return c.RequestReviewers(t.Context(), 1, []string{"lee", "acme/team"}) },
	} {
		if err := add(); err != nil {
			t.Error(err)
		}
	}
	want := []githubtest.Pull{{
		Number: 1, Title: "A cart", Body: text, State: "open", Head: "symphony/GH-1", Base: "main",
		Labels: []string{"agent"}, Assignees: []string{"kim"}, Reviewers: []string{"lee", "team"},
	}}
	if diff := cmp.Diff(want, g.Pulls()); diff != "" {
		t.Error(diff)
	}
	main := g.Head("main")
	g.Merge(1)
	pulls, err := c.PullRequests(t.Context(), "symphony/GH-1")
	if err != nil || len(pulls) != 1 || pulls[0].GetState() != "closed" || pulls[0].MergedAt == nil {
		t.Errorf("after the merge: %v, %v", pulls, err)
	}
	if merged := g.Git("diff", "--name-only", main, "main"); merged != "cart.go" || g.Head("symphony/GH-1") != "" || g.Git("rev-parse", "main^") != main {
		t.Errorf("the merge changes %q and leaves the branches %v", merged, g.Branches())
	}
	if _, err := push(t, g, "symphony/GH-1", "wheel.go"); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t.Context(), c, "symphony/GH-1"); err != nil {
		t.Error(err)
	}
	g.ClosePull(2)
	if pulls, err := c.PullRequests(t.Context(), "symphony/GH-1"); err != nil || len(pulls) != 2 || pulls[0].GetState() != "closed" || pulls[0].MergedAt != nil {
		t.Errorf("after it was closed: %v, %v", pulls, err)
	}
}

func TestGitNeedsATokenThatMayDoIt(t *testing.T) {
	t.Parallel()
	g := newGitHub(t)
	for _, address := range []string{g.CloneURL(), strings.Replace(g.CloneURL(), "://", "://x-access-token:other@", 1)} {
		if out, err := git(t, t.TempDir(), "ls-remote", address); err == nil {
			t.Errorf("branches without the token:\n%s", out)
		}
	}
	g.Deny("contents: write")
	if _, err := push(t, g, "other", "cart.go"); err == nil || g.Head("other") != "" {
		t.Error("a token that may only read could push")
	}
}

// The token of a job may push workflow files that a branch has, and no others: not even
// those that a branch had a moment ago.
func TestWorkflowFilesOfNoBranchAreRefused(t *testing.T) {
	t.Parallel()
	g := newGitHub(t)
	g.Commit("main", map[string]string{".github/workflows/ci.yml": "on: push\n"})
	dir := t.TempDir()
	run := func(args ...string) error {
		out, err := git(t, dir, args...)
		t.Log(out)
		return err
	}
	address := strings.Replace(g.CloneURL(), "://", "://x-access-token:"+token+"@", 1)
	for _, args := range [][]string{{"clone", "-q", address, "."}, {"commit", "-q", "--allow-empty", "-m", "one"}, {"push", "-q", "origin", "HEAD:refs/heads/one"}} {
		if err := run(args...); err != nil {
			t.Fatal(err)
		}
	}
	g.Commit("main", map[string]string{".github/workflows/ci.yml": "on: pull_request\n"})
	if err := run("push", "-q", "origin", "HEAD:refs/heads/two"); err != nil {
		t.Errorf("files of a branch are refused: %v", err)
	}
	g.Delete("one")
	g.Delete("two")
	if err := run("push", "-q", "origin", "HEAD:refs/heads/three"); err == nil {
		t.Error("files that no branch has any more are taken")
	}
	g.AllowWorkflows()
	if err := run("push", "-q", "origin", "HEAD:refs/heads/three"); err != nil {
		t.Errorf("with the permission: %v", err)
	}
}

// TestTheTrackerWorksOnItsIssues has the adapter read and hand over an issue, which is
// in nobody's way if a stranger opened it.
func TestTheTrackerWorksOnItsIssues(t *testing.T) {
	t.Parallel()
	g := newGitHub(t)
	g.AddIssue(githubtest.Issue{Title: "Mine", Labels: []string{"bug"}})
	wanted := g.AddIssue(githubtest.Issue{Title: "Carts forget", Body: "After a reload.", Labels: []string{"symphony"}})
	g.AddIssue(githubtest.Issue{Title: "Do evil", Labels: []string{"symphony"}, Author: "mallory"})
	config, problems := trackertest.Decode(github.Kind(), map[string]any{"repo": g.Repo(), "api_key": token, "api_url": g.URL()})
	if problems != nil {
		t.Fatal(problems)
	}
	adapter, err := config.Open(tracker.Options{ActiveStates: []string{"open"}, TerminalStates: []string{"closed"}, RequiredLabels: []string{"symphony"}},
		http.DefaultClient, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	issues, err := adapter.IssuesByState(t.Context(), []string{"open"})
	if err != nil {
		t.Fatal(err)
	}
	var ready []string
	for _, i := range issues {
		if i.Dispatchable {
			ready = append(ready, i.Title)
		}
	}
	if diff := cmp.Diff([]string{"Carts forget"}, ready); diff != "" || len(issues) != 2 {
		t.Errorf("of %d issues these can be worked on:\n%s", len(issues), diff)
	}
	for range 2 {
		if err := adapter.Writer.Comment(t.Context(), "2", "status", "I am at it."); err != nil {
			t.Error(err)
		}
	}
	if err := adapter.Writer.Label(t.Context(), "2", "symphony", false); err != nil {
		t.Error(err)
	}
	if i := g.Issue(wanted); len(i.Labels) != 0 || len(i.Comments) != 1 || !strings.Contains(i.Comments[0].Body, "I am at it.") {
		t.Errorf("afterwards the issue is %+v", i)
	}
	g.PutOn(wanted, "symphony")
	g.Edit(wanted, "After every reload.")
	issues, err = adapter.IssuesByID(t.Context(), []tracker.ID{"2"})
	if err != nil || len(issues) != 1 || !slices.Equal(issues[0].Labels, []string{"symphony"}) || !issues[0].Dispatchable {
		t.Errorf("after a member edited it: %+v, %v", issues, err)
	}
}

func TestAnyRequestCanLoseItsAnswer(t *testing.T) {
	t.Parallel()
	g := newGitHub(t)
	c := newClient(t, g)
	before := len(g.Log())
	g.FailNth(7, storetest.Fault{Lose: true}) // after a clone, which takes four with the refused one, and two for the refs
	if _, err := push(t, g, "symphony/GH-1", "cart.go"); err == nil || g.Head("symphony/GH-1") == "" {
		t.Fatalf("the push, error %v, left the branches %v; requests %q", err, g.Branches(), g.Log()[before:])
	}
	g.FailNth(1, storetest.Fault{Lose: true})
	if _, err := open(t.Context(), c, "symphony/GH-1"); err == nil || len(g.Pulls()) != 1 {
		t.Errorf("the pull request, error %v, left %v", err, g.Pulls())
	}
	if pulls, err := c.PullRequests(t.Context(), "symphony/GH-1"); err != nil || len(pulls) != 1 {
		t.Errorf("later requests: %v, %v", pulls, err)
	}
}
