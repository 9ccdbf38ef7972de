package main

import (
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
)

// TestBranchesAreTheDeliveryToAServerWithoutAnAPI has a remote of which nothing but git's
// protocol is known, as of a server that is not GitHub.
func TestBranchesAreTheDeliveryToAServerWithoutAnAPI(t *testing.T) {
	t.Parallel()
	const token = "glpat-0123456789abcdefghij"
	server := githubtest.New(t, storetest.Config{Repo: "group/shop", Token: token})
	p := newProject(t, scripted(t, t.TempDir()), map[string]string{
		"A-1": task("Create `cart.go` containing `package shop`", "Call `deliver` with `{\"title\": \"Keep the cart\", \"body\": \"It has wheels.\"}`"),
		"A-2": task("Create `.github/workflows/ci.yml` containing `on: push`", "Call `deliver` with `{\"title\": \"Test it\", \"body\": \"\"}`"),
	})
	p.replace("codex:\n", "repository: {url: "+server.CloneURL()+".git, token: $REPO_TOKEN}\ndelivery: {hand_over: {state: Review}}\nagent: {max_turns: 1}\ncodex:\n")
	main := server.Head("main")
	p.env = append(p.env, "REPO_TOKEN="+token, "GITHUB_TOKEN=ghs_0123456789abcdefghij")
	p.ok("validate")
	r := p.ok("--once")
	if !strings.Contains(r.stdout, "1 completed") || !strings.Contains(r.stdout, "symphony/A-1") || strings.Contains(r.stdout+r.stderr, token) {
		t.Errorf("the report:\n%s\n%s", r.stdout, r.stderr)
	}
	if branches := server.Branches(); len(branches) != 2 || branches["main"] != main || branches["symphony/A-1"] == "" {
		t.Errorf("branches: %v", branches)
	}
	if files := server.Git("diff", "--name-only", "main", "symphony/A-1"); files != "cart.go" {
		t.Errorf("the branch changes %q", files)
	}
	if !strings.Contains(p.read("issues/A-1.md"), "state: Review") || !strings.Contains(p.read("issues/A-2.md"), "state: Todo") {
		t.Errorf("the issues:\n%s\n%s", p.read("issues/A-1.md"), p.read("issues/A-2.md"))
	}
	for _, request := range server.Log() {
		if !strings.Contains(request, "/info/refs?") && !strings.Contains(request, "/git-") {
			t.Errorf("a request that is not git's: %s", request)
		}
	}
}
