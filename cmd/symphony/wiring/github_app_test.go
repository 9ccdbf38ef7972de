package wiring

import (
	"bytes"
	"encoding/base64"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/workflow"
)

var quiet = slog.New(slog.DiscardHandler)

// appOf returns the opener in the environment of a job with an App, and the output of the job.
func appOf(url string, env ...string) (Opener, *bytes.Buffer) {
	var out bytes.Buffer
	p := Process{Stdout: &out, Environ: append([]string{
		"GITHUB_ACTIONS=true", "GITHUB_SERVER_URL=" + url, "GITHUB_API_URL=" + url + "/api/v3", "GITHUB_TOKEN=token-of-the-job",
		"SYMPHONY_APP_ID=7", "SYMPHONY_APP_PRIVATE_KEY=" + strings.ReplaceAll(githubtest.AppKey(), "\n", `\n`),
	}, env...)}
	p.Actions = action.New(&out, p.Value)
	return openerOf(p), &out
}

// openerOf returns the opener of a process.
func openerOf(p Process) Opener {
	r := p.EnvironmentSecrets()
	return Opener{GitHub: GitHub{p}, State: StatePlace{GitHub: GitHub{p}, Redactor: r}, Redactor: r, Apps: new([]App)}
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
		h, url := githubtest.NewAppHub(t)
		o, out := appOf(url)
		wf := deliversTo(url+"/acme/shop.git", "token-of-the-job", kind)
		for range 2 { // each edit of WORKFLOW.md connects again
			tokens, err := o.Token(wf, quiet)
			if err != nil {
				t.Fatal(err)
			}
			if token, err := gitTokens(tokens)(t.Context()); err != nil || string(token) != githubtest.IssuedToken {
				t.Errorf("%s: got %q, %v", kind, string(token), err)
			}
		}
		if diff := cmp.Diff([]string{`{"permissions":` + permissions + `,"repositories":["shop"]}`}, h.Asked()); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
		if !strings.Contains(out.String(), "::add-mask::"+githubtest.IssuedToken+"\n") || o.Redactor.String("x "+githubtest.IssuedToken) != "x ***" {
			t.Errorf("%s: the token is not masked:\n%s", kind, out)
		}
	}
}

func TestTheTokensOfAnAppEndWithTheRun(t *testing.T) {
	t.Parallel()
	h, url := githubtest.NewAppHub(t)
	o, _ := appOf(url)
	RevokeTokens(*o.Apps)
	for _, kind := range []workflow.DeliveryKind{workflow.KindPullRequest, workflow.KindBranch, workflow.KindNone} {
		tokens, err := o.Token(deliversTo(url+"/acme/shop", "", kind), quiet)
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
	RevokeTokens(*o.Apps)
	if diff := cmp.Diff([]string{"Bearer " + githubtest.IssuedToken, "Bearer " + githubtest.IssuedToken}, h.Revoked()); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutAnAppTheTokenOfTheSettingsIsUsed(t *testing.T) {
	t.Parallel()
	_, url := githubtest.NewAppHub(t)
	o, _ := appOf(url, "SYMPHONY_APP_ID=", "SYMPHONY_APP_PRIVATE_KEY=\n")
	for _, wf := range []workflow.Workflow{{}, deliversTo(url+"/acme/shop", "another", workflow.KindPullRequest)} {
		if tokens, err := o.Token(wf, quiet); tokens != nil || err != nil {
			t.Errorf("got %v", err)
		}
	}
}

func TestSettingsOfAnAppThatContradictOthersAreRefused(t *testing.T) {
	t.Parallel()
	h, url := githubtest.NewAppHub(t)
	good := deliversTo(url+"/acme/shop", "", workflow.KindPullRequest)
	for name, test := range map[string]struct {
		env  string
		wf   workflow.Workflow
		want string
	}{
		"no key":             {"SYMPHONY_APP_PRIVATE_KEY=", good, "the input app-id is set without the input private-key: set both, or neither (in a fork every secret is empty)"},
		"no id":              {"SYMPHONY_APP_ID=", good, "the input private-key is set without the input app-id"},
		"a client id":        {"SYMPHONY_APP_ID=Iv23liABC", good, "the input app-id is not a number"},
		"half a key":         {"SYMPHONY_APP_PRIVATE_KEY=" + githubtest.AppKey()[:500], good, "the input private-key is no RSA private key"},
		"outside of Actions": {"GITHUB_ACTIONS=", deliversTo("/srv/shop.git", "", workflow.KindBranch), "SYMPHONY_APP_ID is set, and repository.url of WORKFLOW.md is not on github.com"},
		"no repository":      {"", workflow.Workflow{Path: "/x/WORKFLOW.md"}, "the input app-id is set, and WORKFLOW.md has no section repository"},
		"another server":     {"", deliversTo("https://gitlab.example.org/acme/shop", "", workflow.KindBranch), "repository.url of WORKFLOW.md is not on github.com or the server of this job"},
		"another token":      {"", deliversTo(url+"/acme/shop", "written", workflow.KindPullRequest), "repository.token of WORKFLOW.md names another token"},
	} {
		o, _ := appOf(url, test.env)
		o.DetectActions()
		_, err := o.Token(test.wf, quiet)
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
	if len(h.Asked()) > 0 {
		t.Errorf("tokens were asked for: %v", h.Asked())
	}
}

func TestTheKeyOfAnAppIsHiddenLineByLineHoweverItWasPasted(t *testing.T) {
	t.Parallel()
	_, url := githubtest.NewAppHub(t)
	for name, pasted := range map[string]string{
		"the file":      githubtest.AppKey(),
		`with \n`:       strings.ReplaceAll(githubtest.AppKey(), "\n", `\n`),
		"in one line":   strings.ReplaceAll(githubtest.AppKey(), "\n", " "),
		"as its base64": base64.StdEncoding.EncodeToString([]byte(githubtest.AppKey())),
	} {
		o, out := appOf(url, "SYMPHONY_APP_PRIVATE_KEY="+pasted)
		for line := range strings.Lines(githubtest.AppKey()) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "-----") {
				continue
			}
			if got := o.Redactor.String("x " + line + " y"); got != "x *** y" {
				t.Errorf("%s: %s is printed as %q", name, line, got)
			}
			if !strings.Contains(out.String(), "::add-mask::"+line+"\n") {
				t.Errorf("%s: %s is not masked", name, line)
			}
		}
		if got := o.Redactor.String("x " + strings.TrimSpace(pasted) + " y"); got != "x *** y" {
			t.Errorf("%s: all of it is printed as %q", name, got)
		}
	}
}
