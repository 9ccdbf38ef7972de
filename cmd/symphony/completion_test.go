package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestCompletionSendsNoRequest presses the key where an answer is only on a server.
func TestCompletionSendsNoRequest(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a request: %s %s", r.Method, r.URL)
	}))
	defer server.Close()
	p := emptyProject(t)
	p.env = append(p.env, "GITHUB_API_URL="+server.URL, "GITHUB_TOKEN=ghs_api0123456789", "GITHUB_REPOSITORY=acme/shop", "LINEAR_API_KEY=lin_api_0123456789")
	for _, tracker := range []string{"{kind: github}", "{kind: linear, project_slug: abc, endpoint: " + server.URL + "}"} {
		p.write("WORKFLOW.md", "---\ntracker: "+tracker+"\n---\nGo.\n")
		for _, args := range [][]string{
			{"explain", ""}, {"state", "retry", ""}, {"--once", "--command", "retry", "--issue", ""},
			{"--state", "branch:symphony-state", "explain", ""}, {"--state", "branch:symphony-state", "state", "retry", ""},
		} {
			if out := p.ok(append([]string{"__complete"}, args...)...).stdout; out != ":4\n" {
				t.Errorf("%q completes %q", args, out)
			}
		}
	}
}

// TestCompletionShowsNoPartOfASecret has one where the title is cut.
func TestCompletionShowsNoPartOfASecret(t *testing.T) {
	t.Parallel()
	p := newProject(t, "true", map[string]string{"ABC-1": "---\ntitle: " + strings.Repeat("x", 40) + " ghp_0123456789abcdefghijABCDEFGHIJ012345\nstate: Todo\n---\n"})
	if out := p.ok("__complete", "explain", "").stdout; !strings.Contains(out, "xxx ***") || strings.Contains(out, "ghp_") {
		t.Errorf("completes %q", out)
	}
}
