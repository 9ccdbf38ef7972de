package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/githubtest"
)

// The names of the variables that an agent or a hook may see come from WORKFLOW.md. A
// login profile may set one of them as well.
func TestNoChildIsGivenTheKeyOfAnApp(t *testing.T) {
	t.Parallel()
	p := newProject(t, scripted(t, t.TempDir()), map[string]string{"A-1": task("Move this issue to `Review`")})
	p.replace("codex:\n", "hooks:\n  env: [SYMPHONY_APP_PRIVATE_KEY, PLAIN]\n  before_run: env > "+shellQuote(p.dir+"/seen")+"\ncodex:\n  env: [SYMPHONY_APP_PRIVATE_KEY]\n")
	p.write(".bash_profile", "export SYMPHONY_APP_PRIVATE_KEY=a-key-of-an-app\n")
	p.env = append(p.env, "PLAIN=plain")
	r := p.ok("--once")
	if seen := p.read("seen"); strings.Contains(seen, "PRIVATE_KEY") || !strings.Contains(seen, "PLAIN=plain") {
		t.Errorf("a hook sees\n%s", seen)
	}
	if strings.Count(r.stdout, "names SYMPHONY_APP_PRIVATE_KEY, which is never passed on") != 2 {
		t.Errorf("the report does not warn:\n%s", r.stdout)
	}
}

func TestValidateGetsATokenOfTheAppAndRevokesIt(t *testing.T) {
	t.Parallel()
	h, url := githubtest.NewAppHub(t)
	p := newProject(t, scripted(t, t.TempDir()), map[string]string{"A-1": task("Move this issue to `Review`")})
	p.replace("codex:\n", "repository: {url: "+url+"/acme/shop}\ncodex:\n")
	p.env = append(p.env, "GITHUB_SERVER_URL="+url, "GITHUB_API_URL="+url+"/api/v3", "GITHUB_TOKEN=token-of-the-job",
		"SYMPHONY_APP_ID=7", "SYMPHONY_APP_PRIVATE_KEY="+githubtest.AppKey())
	r := p.run("validate")
	if !strings.Contains(r.stdout, "ok        app         7\n") || len(h.Asked()) != 1 || len(h.Revoked()) != 1 {
		t.Errorf("asked %v, revoked %v\n%s%s", h.Asked(), h.Revoked(), r.stdout, r.stderr)
	}
	h.Refuse(http.StatusNotFound)
	want := "problem   app         get a token of the GitHub App 7 for acme/shop: github_app_unusable: it is not installed on the repository: choose Install App"
	if r := p.run("validate"); r.code != exitUsage || !strings.Contains(r.stdout, want) {
		t.Errorf("exit status %d, want %q:\n%s%s", r.code, want, r.stdout, r.stderr)
	}
}
