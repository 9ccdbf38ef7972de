package main

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// appKeyFile is the private key of an App, as GitHub gives it.
var appKeyFile = sync.OnceValue(func() string {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
})

const issuedToken = "issued-for-an-hour-0123456789"

// appHub is the part of GitHub that gives tokens to Apps.
type appHub struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string // the bodies of requests for tokens
	refuse int      // a status; 0 for none

	revoked []string // what was sent to revoke a token
}

func newAppHub(t *testing.T) *appHub {
	h := &appHub{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		body, _ := io.ReadAll(r.Body)
		switch {
		case h.refuse != 0:
			w.WriteHeader(h.refuse)
			fmt.Fprint(w, `{"message": "no"}`)
		case r.Method+" "+r.URL.Path == "DELETE /api/v3/installation/token":
			h.revoked = append(h.revoked, r.Header.Get("Authorization"))
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Path == "/api/v3/repos/acme/shop/installation":
			fmt.Fprint(w, `{"id": 42, "permissions": {"contents": "write", "pull_requests": "write"}}`)
		case r.URL.Path == "/api/v3/app/installations/42/access_tokens":
			h.asked = append(h.asked, string(body))
			_ = json.NewEncoder(w).Encode(map[string]any{"token": issuedToken, "expires_at": time.Now().Add(time.Hour)})
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"message": "Not Found"}`)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// appOf returns the program in the environment of a job with an App, and what it
// writes.
func appOf(h *appHub, env ...string) (*app, *bytes.Buffer) {
	var out bytes.Buffer
	a := &app{process: process{stdout: &out, environ: append([]string{
		"GITHUB_ACTIONS=true", "GITHUB_SERVER_URL=" + h.URL, "GITHUB_API_URL=" + h.URL + "/api/v3", "GITHUB_TOKEN=token-of-the-job",
		"SYMPHONY_APP_ID=7", "SYMPHONY_APP_PRIVATE_KEY=" + strings.ReplaceAll(appKeyFile(), "\n", `\n`),
	}, env...)}}
	a.actions = action.New(&out, func(name string) string {
		value, _ := a.getenv(name)
		return value
	})
	a.redactor = a.environmentSecrets()
	return a, &out
}

// deliversTo returns a workflow that delivers to a repository.
func deliversTo(remote, token string, kind workflow.DeliveryKind) workflow.Workflow {
	return workflow.Workflow{Path: "/x/WORKFLOW.md", Settings: workflow.Settings{
		Repository: &workflow.Repository{Remote: remote, Token: token}, Delivery: workflow.Delivery{Kind: kind},
	}}
}

func TestTheTokenOfAnAppIsUsedInPlaceOfTheJobs(t *testing.T) {
	t.Parallel()
	for kind, permissions := range map[workflow.DeliveryKind]string{
		workflow.KindPullRequest: `{"contents":"write","pull_requests":"write"}`,
		workflow.KindBranch:      `{"contents":"write"}`,
		workflow.KindPatch:       `{"contents":"read"}`,
		workflow.KindNone:        `{"contents":"read"}`,
	} {
		h := newAppHub(t)
		a, out := appOf(h)
		wf := deliversTo(h.URL+"/acme/shop.git", "token-of-the-job", kind)
		for range 2 { // each edit of WORKFLOW.md connects again
			tokens, err := a.opener().token(wf, quiet())
			if err != nil {
				t.Fatal(err)
			}
			if token, err := gitTokens(tokens)(t.Context()); err != nil || string(token) != issuedToken {
				t.Errorf("%s: got %q, %v", kind, string(token), err)
			}
		}
		if diff := cmp.Diff([]string{`{"permissions":` + permissions + `,"repositories":["shop"]}`}, h.asked); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
		if !strings.Contains(out.String(), "::add-mask::"+issuedToken+"\n") || a.redactor.String("x "+issuedToken) != "x ***" {
			t.Errorf("%s: the token is not masked:\n%s", kind, out)
		}
	}
}

func TestTheTokensOfAnAppEndWithTheRun(t *testing.T) {
	t.Parallel()
	h := newAppHub(t)
	a, _ := appOf(h)
	a.revokeTokens()
	for _, kind := range []workflow.DeliveryKind{workflow.KindPullRequest, workflow.KindBranch, workflow.KindNone} {
		tokens, err := a.opener().token(deliversTo(h.URL+"/acme/shop", "", kind), quiet())
		if err != nil {
			t.Fatal(err)
		}
		if kind == workflow.KindNone {
			continue // nothing was fetched
		}
		if _, err := tokens(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	a.revokeTokens()
	if diff := cmp.Diff([]string{"Bearer " + issuedToken, "Bearer " + issuedToken}, h.revoked); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutAnAppTheTokenOfTheSettingsIsUsed(t *testing.T) {
	t.Parallel()
	h := newAppHub(t)
	a, _ := appOf(h, "SYMPHONY_APP_ID=", "SYMPHONY_APP_PRIVATE_KEY=\n")
	for _, wf := range []workflow.Workflow{{}, deliversTo(h.URL+"/acme/shop", "another", workflow.KindPullRequest)} {
		if tokens, err := a.opener().token(wf, quiet()); tokens != nil || err != nil {
			t.Errorf("got %v", err)
		}
	}
}

func TestSettingsOfAnAppThatContradictOthersAreRefused(t *testing.T) {
	t.Parallel()
	h := newAppHub(t)
	good := deliversTo(h.URL+"/acme/shop", "", workflow.KindPullRequest)
	for name, test := range map[string]struct {
		env  string
		wf   workflow.Workflow
		want string
	}{
		"no key":             {"SYMPHONY_APP_PRIVATE_KEY=", good, "the input app-id is set without the input private-key: set both, or neither (in a fork every secret is empty)"},
		"no id":              {"SYMPHONY_APP_ID=", good, "the input private-key is set without the input app-id"},
		"a client id":        {"SYMPHONY_APP_ID=Iv23liABC", good, "the input app-id is not a number"},
		"half a key":         {"SYMPHONY_APP_PRIVATE_KEY=" + appKeyFile()[:500], good, "the input private-key is no RSA private key"},
		"outside of Actions": {"GITHUB_ACTIONS=", deliversTo("/srv/shop.git", "", workflow.KindBranch), "SYMPHONY_APP_ID is set, and repository.url of WORKFLOW.md is not on github.com"},
		"no repository":      {"", workflow.Workflow{Path: "/x/WORKFLOW.md"}, "the input app-id is set, and WORKFLOW.md has no section repository"},
		"another server":     {"", deliversTo("https://gitlab.example.org/acme/shop", "", workflow.KindBranch), "repository.url of WORKFLOW.md is not on github.com or the server of this job"},
		"another token":      {"", deliversTo(h.URL+"/acme/shop", "written", workflow.KindPullRequest), "repository.token of WORKFLOW.md names another token"},
	} {
		a, _ := appOf(h, test.env)
		a.detectActions()
		_, err := a.opener().token(test.wf, quiet())
		if !errors.Is(err, errUsage) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
	if len(h.asked) > 0 {
		t.Errorf("tokens were asked for: %v", h.asked)
	}
}

func TestTheKeyOfAnAppIsHiddenLineByLineHoweverItWasPasted(t *testing.T) {
	t.Parallel()
	h := newAppHub(t)
	for name, pasted := range map[string]string{
		"the file":      appKeyFile(),
		`with \n`:       strings.ReplaceAll(appKeyFile(), "\n", `\n`),
		"in one line":   strings.ReplaceAll(appKeyFile(), "\n", " "),
		"as its base64": base64.StdEncoding.EncodeToString([]byte(appKeyFile())),
	} {
		a, out := appOf(h, "SYMPHONY_APP_PRIVATE_KEY="+pasted)
		for line := range strings.Lines(appKeyFile()) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "-----") {
				continue
			}
			if got := a.redactor.String("x " + line + " y"); got != "x *** y" {
				t.Errorf("%s: %s is printed as %q", name, line, got)
			}
			if !strings.Contains(out.String(), "::add-mask::"+line+"\n") {
				t.Errorf("%s: %s is not masked", name, line)
			}
		}
		if got := a.redactor.String("x " + strings.TrimSpace(pasted) + " y"); got != "x *** y" {
			t.Errorf("%s: all of it is printed as %q", name, got)
		}
	}
}

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
	h := newAppHub(t)
	p := newProject(t, scripted(t, t.TempDir()), map[string]string{"A-1": task("Move this issue to `Review`")})
	p.replace("codex:\n", "repository: {url: "+h.URL+"/acme/shop}\ncodex:\n")
	p.env = append(p.env, "GITHUB_SERVER_URL="+h.URL, "GITHUB_API_URL="+h.URL+"/api/v3", "GITHUB_TOKEN=token-of-the-job",
		"SYMPHONY_APP_ID=7", "SYMPHONY_APP_PRIVATE_KEY="+appKeyFile())
	r := p.run("validate")
	if !strings.Contains(r.stdout, "ok        app         7\n") || len(h.asked) != 1 || len(h.revoked) != 1 {
		t.Errorf("asked %v, revoked %v\n%s%s", h.asked, h.revoked, r.stdout, r.stderr)
	}
	h.mu.Lock()
	h.refuse = http.StatusNotFound
	h.mu.Unlock()
	want := "problem   app         get a token of the GitHub App 7 for acme/shop: github_app_unusable: it is not installed on the repository: choose Install App"
	if r := p.run("validate"); r.code != exitUsage || !strings.Contains(r.stdout, want) {
		t.Errorf("exit status %d, want %q:\n%s%s", r.code, want, r.stdout, r.stderr)
	}
}

// The server of the job is asked where its environment says; the address of any other API
// follows from that of its server.
func TestTheAPIOfARepositoryIsThatOfItsServer(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"https://github.com/acme/shop":          "https://api.github.com",
		"https://acme.ghe.com/acme/shop.git":    "https://api.acme.ghe.com",
		"https://ghe.example.org/acme/shop/":    "https://ghe.example.org/api/v3",
		"https://job.example.org:444/acme/shop": "https://proxy.example.org/api",
	} {
		a := fleetApp(nil, "GITHUB_SERVER_URL=https://job.example.org:444", "GITHUB_API_URL=https://proxy.example.org/api")
		if repo, api := a.gitHub().named(remote); repo != "acme/shop" || api != want {
			t.Errorf("%s is %s at %s, want %s", remote, repo, api, want)
		}
	}
}
