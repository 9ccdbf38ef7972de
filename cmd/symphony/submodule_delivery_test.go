package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
)

// TestASessionWorksWithSubmodulesOverHTTP has a repository with a submodule, which comes
// from another branch of the same repository, as far as the server is concerned.
func TestASessionWorksWithSubmodulesOverHTTP(t *testing.T) {
	t.Parallel()
	const token = "glpat-0123456789abcdefghij"
	server := githubtest.New(t, storetest.Config{Repo: "group/shop", Token: token})
	p := newProject(t, agentCommand(t), map[string]string{
		"A-1": task(
			"Run `test \"$(cat lib/page)\" = first && test -z \"$(git status --porcelain --ignore-submodules=none)\" && ! grep -r "+token+" .`",
			"Create `cart.go` containing `package shop`", "Run `echo new > lib/page`",
			"Call `deliver` with `{\"title\": \"Keep the cart\", \"body\": \"It has wheels.\"}`"),
		"A-2": task("Run `cd lib && echo new > page && git -c user.name=x -c user.email=x@y commit -qam new && cd .. && git commit -qam new`"),
	})
	p.env = append(p.env, "OPENAI_API_KEY="+agentKey, "REPO_TOKEN="+token)
	p.replace("codex:\n", "repository: {url: "+server.CloneURL()+".git, token: $REPO_TOKEN, submodules: true}\ndelivery: {hand_over: {state: Review}}\nagent: {max_turns: 1}\ncodex:\n")

	lib := server.Commit("lib", map[string]string{"page": "first\n"})
	server.Commit("main", map[string]string{".gitmodules": "[submodule \"lib\"]\n\tpath = lib\n\turl = ../shop.git\n"})
	link := exec.CommandContext(t.Context(), "git", "--git-dir="+server.Git("rev-parse", "--absolute-git-dir"), "fast-import", "--quiet")
	link.Stdin = strings.NewReader("commit refs/heads/main\ncommitter A <a@example.com> 1700000000 +0000\ndata 0\nfrom refs/heads/main^0\nM 160000 " + lib + " lib\n")
	if out, err := link.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if r := p.ok("validate"); !strings.Contains(r.stdout, "delivery branch, with submodules") {
		t.Errorf("validate says\n%s", r.stdout)
	}
	before := len(server.Log())
	r := p.run("--once")
	if !strings.Contains(r.stdout, "1 completed") || !strings.Contains(r.stdout, "symphony/A-1") || strings.Contains(r.stdout+r.stderr, token) {
		t.Errorf("the report:\n%s\n%s", r.stdout, r.stderr)
	}
	for _, want := range []string{"Changes inside submodules are left out: lib.", "lib: it is a submodule at another commit"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("the report does not say %q:\n%s", want, r.stdout)
		}
	}
	if branches := server.Branches(); len(branches) != 3 || branches["symphony/A-1"] == "" {
		t.Errorf("branches: %v", branches)
	}
	if files := server.Git("diff", "--name-only", "main", "symphony/A-1"); files != "cart.go" {
		t.Errorf("the branch changes %q", files)
	}
	// The branches are listed once, and for both issues the repository is fetched once, and
	// its submodule once.
	reads := 0
	for _, request := range server.Log()[before:] {
		if strings.Contains(request, "/info/refs?service=git-upload-pack") {
			reads++
		}
	}
	if reads != 3 {
		t.Errorf("%d reads of the server: %q", reads, server.Log()[before:])
	}
}
