package main

import (
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
)

// The server takes the App's token and no other: git and the REST API both get it.
func TestAnAppDeliversSignedCommits(t *testing.T) {
	t.Parallel()
	g := githubtest.New(t, storetest.Config{Repo: "acme/shop", Token: githubtest.IssuedToken})
	apps := &githubtest.AppHub{}
	for _, pattern := range []string{"GET /api/v3/repos/acme/shop/installation", "POST /api/v3/app/installations/42/access_tokens", "DELETE /api/v3/installation/token"} {
		g.Handle(pattern, apps)
	}
	p := newProject(t, scripted(t, t.TempDir()), map[string]string{"A-1": task("Create `cart.go` containing `package cart`")})
	p.replace("codex:\n", "repository: {url: "+g.CloneURL()+"}\ndelivery:\n  commits: verified\n  hand_over: {state: Review}\ncodex:\n")
	p.env = append(p.env, "GITHUB_SERVER_URL="+g.ServerURL(), "GITHUB_API_URL="+g.URL(), "GITHUB_TOKEN=", "GITHUB_REPOSITORY=",
		"SYMPHONY_APP_ID=7", "SYMPHONY_APP_PRIVATE_KEY="+githubtest.AppKey())
	r := p.run("--once", "--logs", "logs", "--report", "report.json")
	pulls := g.Pulls()
	if r.code != 0 || len(pulls) != 1 || pulls[0].Head != "symphony/A-1" {
		t.Fatalf("exit status %d, pull requests %+v\n%s\n%s", r.code, pulls, r.stdout, r.stderr)
	}
	if text, _ := g.File("symphony/A-1", "cart.go"); strings.TrimSpace(text) != "package cart" {
		t.Errorf("the branch has %q", text)
	}
	if who := g.Git("log", "-1", "--format=%an", "symphony/A-1"); who != "Symphony" { // as the server signs
		t.Errorf("the commit is by %s", who)
	}
	if refs := g.Git("for-each-ref", "--format=%(refname)"); refs != "refs/heads/main\nrefs/heads/symphony/A-1" {
		t.Errorf("the remote has\n%s", refs)
	}
	if !strings.Contains(p.read("issues/A-1.md"), "state: Review") {
		t.Errorf("the issue is\n%s", p.read("issues/A-1.md"))
	}
	rest := 0
	for _, line := range g.Log() {
		if strings.Contains(line, "/api/v3/repos/acme/shop/") && !strings.Contains(line, "/installation") {
			rest++
		}
	}
	if rest > 6 {
		t.Errorf("%d requests for a pull request: %q", rest, g.Log())
	}
	written := r.stdout + r.stderr + p.read("report.json") + p.eventLog("logs", "A-1")
	for _, secret := range append([]string{githubtest.IssuedToken}, strings.Split(strings.TrimSpace(githubtest.AppKey()), "\n")...) {
		if strings.Contains(written, secret) && !strings.HasPrefix(secret, "-----") {
			t.Errorf("%s was written", secret)
		}
	}
}
