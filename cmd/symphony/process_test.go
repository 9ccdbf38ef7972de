package main

import (
	"strings"
	"testing"
)

func TestTheAddressesOfAServerFollowFromEachOther(t *testing.T) {
	t.Parallel()
	const ghes, api = "https://git.example.org", "https://git.example.org/api/v3"
	for name, c := range map[string]struct {
		env         []string
		server, api string
	}{
		"none":         {nil, "", ""},
		"the server":   {[]string{"GITHUB_SERVER_URL= " + ghes + "/"}, ghes, api},
		"the API":      {[]string{"GITHUB_API_URL=" + api}, ghes, api},
		"both":         {[]string{"GITHUB_SERVER_URL=" + ghes, "GITHUB_API_URL=https://api.example.org"}, ghes, "https://api.example.org"},
		"an empty one": {[]string{"GITHUB_SERVER_URL=", "GITHUB_API_URL=https://api.github.com"}, "https://github.com", "https://api.github.com"},
	} {
		p := process{environ: c.env}
		server, _ := p.getenv("GITHUB_SERVER_URL")
		got, _ := p.getenv("GITHUB_API_URL")
		if server != c.server || got != c.api {
			t.Errorf("%s: %q and %q, want %q and %q", name, server, got, c.server, c.api)
		}
	}
}

// TestOneNameOfAServerIsEnough names a server once, and validates what reads its issues and
// fetches its repository.
func TestOneNameOfAServerIsEnough(t *testing.T) {
	t.Parallel()
	for name, byTracker := range map[string]bool{"by the environment": false, "by the tracker": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, g := atGitHub(t)
			tracker := "{kind: github}"
			p.env = append(p.env, "GITHUB_API_URL=")
			if byTracker {
				tracker = "{kind: github, provider: {api_url: " + g.URL() + "}}"
				p.env = append(p.env, "GITHUB_SERVER_URL=")
			}
			p.write("WORKFLOW.md", "---\ntracker: "+tracker+"\nrepository: {}\ndelivery: {kind: branch}\n---\nGo.\n")
			r := p.run("validate")
			if len(g.Asked()) == 0 || strings.Contains(r.stdout, "github.com") {
				t.Errorf("it asked %v:\n%s", g.Asked(), r.stdout)
			}
		})
	}
}
