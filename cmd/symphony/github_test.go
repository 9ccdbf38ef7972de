package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github"
)

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
			p := checkout(t, test.origin)
			a := &app{process: process{environ: test.env, stdout: t.Output(), stderr: t.Output()}}
			a.detectActions()
			path := filepath.Join(p.dir, test.folder, "WORKFLOW.md")
			if got, _ := a.gitHub().repositoryNear(path); got != test.want {
				t.Errorf("%q, not %q", got, test.want)
			}
			if got, _ := a.gitHub().lookupNear(path)("GITHUB_REPOSITORY"); got != test.want {
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
		a := &app{process: process{environ: append(test.env, "GITHUB_REPOSITORY=acme/shop", "GITHUB_TOKEN=x"), stdout: t.Output(), stderr: t.Output()}}
		a.detectActions()
		if _, api, _, err := a.statePlace().repository(wf); err != nil || api != test.want {
			t.Errorf("%s: %q, not %q (%v)", name, api, test.want, err)
		}
		a.environ = append(test.env, "GITHUB_REPOSITORY=acme/shop")
		if _, _, _, err := a.statePlace().repository(wf); err == nil || !strings.Contains(err.Error(), "GITHUB_TOKEN="+test.login) {
			t.Errorf("%s: without a token: %v", name, err)
		}
	}
}

// TestOriginIsThatOfTheWorkflowNotOfWhereItIsRun runs the program in a workspace, whose
// configuration of git an agent may have written.
func TestOriginIsThatOfTheWorkflowNotOfWhereItIsRun(t *testing.T) {
	t.Parallel()
	p := checkout(t, "https://127.0.0.1/acme/shop")
	workspace := filepath.Join(p.dir, ".symphony", "workspaces", "GH-7")
	if err := os.MkdirAll(filepath.Join(workspace, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(workspace, ".git", "config"), []byte("[remote \"origin\"]\n\turl = https://127.0.0.1/evil/shop\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	workflow := filepath.Join(p.dir, "WORKFLOW.md")
	p.write("WORKFLOW.md", "---\ntracker: {kind: github}\n---\nGo.\n")
	p.dir = workspace
	p.env = append(p.env, "GITHUB_TOKEN=ghs_api0123456789", "GITHUB_API_URL=http://127.0.0.1:1", "GITHUB_REPOSITORY=")
	r := p.run("validate", workflow)
	if !strings.Contains(r.stdout, "in the repository acme/shop (origin of this checkout)") || strings.Contains(r.stdout, "evil") {
		t.Error(r.stdout)
	}
}
