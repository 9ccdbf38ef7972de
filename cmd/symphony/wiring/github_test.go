package wiring

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// gitHubOf returns the GitHub of an environment.
func gitHubOf(t *testing.T, env ...string) GitHub {
	p := Process{Environ: env, Stdout: t.Output(), Stderr: t.Output()}
	p.DetectActions()
	return GitHub{p}
}

// TestOutsideOfActionsOriginIsTheRepository asks what the program takes for its repository
// where nothing names one.
func TestOutsideOfActionsOriginIsTheRepository(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		origin string
		env    []string
		folder string // of WORKFLOW.md
		want   string
	}{
		"https":                        {origin: "https://github.com/acme/shop.git", want: "acme/shop"},
		"ssh":                          {origin: "git@github.com:acme/shop.git", want: "acme/shop"},
		"below the root":               {origin: "git@github.com:acme/shop.git", folder: "tools/bot", want: "acme/shop"},
		"another server":               {origin: "https://git.example.org/acme/shop"},
		"a name that holds another":    {origin: "https://github.com.evil.example/acme/shop"},
		"the server of GITHUB_SERVER_": {origin: "ssh://git@git.example.org:2222/acme/shop", env: []string{"GITHUB_SERVER_URL=https://git.example.org/"}, want: "acme/shop"},
		"github.com is not that":       {origin: "https://github.com/acme/shop", env: []string{"GITHUB_SERVER_URL=https://git.example.org"}},
		"a name that is set":           {origin: "https://github.com/acme/shop", env: []string{"GITHUB_REPOSITORY=acme/other"}, want: "acme/other"},
		"in Actions":                   {origin: "https://github.com/acme/shop", env: []string{"GITHUB_ACTIONS=true"}},
		"no remote":                    {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			if err := os.Mkdir(filepath.Join(folder, ".git"), 0o755); err != nil {
				t.Fatal(err)
			}
			config := "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = " + test.origin + "\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
			if err := os.WriteFile(filepath.Join(folder, ".git", "config"), []byte(config), 0o644); err != nil {
				t.Fatal(err)
			}
			g := gitHubOf(t, test.env...)
			path := filepath.Join(folder, test.folder, "WORKFLOW.md")
			if got, _ := g.RepositoryNear(path); got != test.want {
				t.Errorf("%q, not %q", got, test.want)
			}
			if got, _ := g.LookupNear(path)("GITHUB_REPOSITORY"); got != test.want {
				t.Errorf("a lookup finds %q, not %q", got, test.want)
			}
		})
	}
}

// TestTheTokenOfAServerGoesToTheAPIOfThatServer asks where the state on a branch is read.
func TestTheTokenOfAServerGoesToTheAPIOfThatServer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env     []string
		tracker string // its API; empty for another tracker
		want    string
		login   string // how the token is had
	}{
		"nothing is set":              {nil, "", "https://api.github.com", "$(gh auth token)"},
		"the API alone":               {[]string{"GITHUB_API_URL=https://api.octo.ghe.com"}, "", "https://api.octo.ghe.com", "$(gh auth token --hostname octo.ghe.com)"},
		"the server alone":            {[]string{"GITHUB_SERVER_URL=https://git.example.org/"}, "", "https://git.example.org/api/v3", "$(gh auth token --hostname git.example.org)"},
		"github.com":                  {[]string{"GITHUB_SERVER_URL=https://github.com"}, "", "https://api.github.com", "$(gh auth token)"},
		"both, as in Actions":         {[]string{"GITHUB_SERVER_URL=https://git.example.org", "GITHUB_API_URL=https://api.git.example.org"}, "", "https://api.git.example.org", "$(gh auth token --hostname "},
		"the tracker alone":           {nil, "https://git.example.org/api/v3", "https://git.example.org/api/v3", "$(gh auth token --hostname git.example.org)"},
		"a tracker on another server": {[]string{"GITHUB_SERVER_URL=https://github.com"}, "https://git.example.org/api/v3", "https://api.github.com", "$(gh auth token)"},
	} {
		wf := workflow.Workflow{}
		if test.tracker != "" {
			wf.Settings.Tracker.Config = &github.Config{APIURL: test.tracker}
		}
		env := append(test.env, "GITHUB_REPOSITORY=acme/shop")
		if _, api, _, err := (StatePlace{GitHub: gitHubOf(t, append(env, "GITHUB_TOKEN=x")...)}).repository(wf); err != nil || api != test.want {
			t.Errorf("%s: %q, not %q (%v)", name, api, test.want, err)
		}
		if _, _, _, err := (StatePlace{GitHub: gitHubOf(t, env...)}).repository(wf); err == nil || !strings.Contains(err.Error(), "GITHUB_TOKEN="+test.login) {
			t.Errorf("%s: without a token: %v", name, err)
		}
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
		g := gitHubOf(t, "GITHUB_SERVER_URL=https://job.example.org:444", "GITHUB_API_URL=https://proxy.example.org/api")
		if repo, api := g.named(remote); repo != "acme/shop" || api != want {
			t.Errorf("%s is %s at %s, want %s", remote, repo, api, want)
		}
	}
}

// A token of one server must not be sent to another one.
func TestTheExchangeIsOnTheServerThatTheTokenIsFor(t *testing.T) {
	t.Parallel()
	const ghes, api = "https://git.example.org", "https://git.example.org/api/v3"
	for name, c := range map[string]struct {
		env     []string
		apiURL  string // of the tracker
		want    string
		refused bool
	}{
		"nothing names one":        {want: "https://github.com/acme/shop"},
		"the API names it":         {env: []string{"GITHUB_API_URL=" + api}, want: ghes + "/acme/shop"},
		"the tracker names it":     {apiURL: api, want: ghes + "/acme/shop"},
		"the server is named":      {env: []string{"GITHUB_SERVER_URL=" + ghes + "/", "GITHUB_API_URL=" + api}, want: ghes + "/acme/shop"},
		"a cloud with data":        {env: []string{"GITHUB_API_URL=https://api.octo.ghe.com"}, want: "https://octo.ghe.com/acme/shop"},
		"two servers":              {env: []string{"GITHUB_SERVER_URL=https://github.com"}, apiURL: api, refused: true},
		"only the server is named": {env: []string{"GITHUB_SERVER_URL=" + ghes}, want: ghes + "/acme/shop"},
		"a tracker elsewhere":      {env: []string{"GITHUB_SERVER_URL=" + ghes}, apiURL: client.DefaultAPI, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := openerOf(gitHubOf(t, append(c.env, "GITHUB_REPOSITORY=acme/shop", "GITHUB_TOKEN=ghs_0123456789abcdefTOKEN")...).Process)
			wf := workflow.Workflow{Path: t.TempDir() + "/WORKFLOW.md"}
			if c.apiURL != "" {
				wf.Settings.Tracker.Config = &github.Config{Repo: "acme/shop", APIURL: c.apiURL}
			}
			remote, err := o.exchangeRemote(wf)
			if c.refused != errors.Is(err, ErrUsage) || remote.String() != c.want {
				t.Errorf("%q and %v, want %q", remote, err, c.want)
			}
		})
	}
}
