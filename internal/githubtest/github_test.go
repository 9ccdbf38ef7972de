package githubtest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
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
	return c.Pulls.Create(ctx, client.NewPullRequest{Title: &title, Body: &body, Head: &head, Base: &base})
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
