package main

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/feedback"
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

// TestEveryFlagCompletesWhatItTakes asks each command for the values of each of its flags.
func TestEveryFlagCompletesWhatItTakes(t *testing.T) {
	t.Parallel()
	words := map[string]string{
		"exchange": ":16\n", "logs": ":16\n", "home": ":16\n", // folders
		"report": ":0\n", "output": ":0\n", // files
		"log-format": "text\njson\n:4\n", "fail-on": "never\nfailed\nparked\n:4\n", "state": "file:\nbranch:\ncache:\n:6\n",
		"command": strings.Join(feedback.Commands(), "\n") + "\n:4\n",
		"tracker": "github\nlinear\nfile\n:4\n", "delivery": "pull_request\nbranch\npatch\n:4\n", "schedule": "15m\n1h\n6h\n24h\nnone\n:4\n", "login": "identity\nkey\n:4\n",
	}
	seen := 0
	var ask func(path []string, cmd *cobra.Command)
	ask = func(path []string, cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.NoOptDefVal != "" { // it takes none
				return
			}
			var out strings.Builder
			args := slices.Concat([]string{"__complete"}, path, []string{"--" + f.Name, ""})
			if code := run(t.Context(), wiring.Process{Args: args, Stdout: &out, Stderr: io.Discard}); code != 0 {
				t.Fatalf("%q: exit status %d", args, code)
			}
			want := cmp.Or(words[f.Name], ":4\n") // no name of a file
			if seen++; out.String() != want {
				t.Errorf("%q completes %q, want %q", args, out.String(), want)
			}
		})
		for _, sub := range cmd.Commands() {
			ask(slices.Concat(path, []string{sub.Name()}), sub)
		}
	}
	ask(nil, (&app{}).command())
	if seen < 40 {
		t.Errorf("only %d flags were asked", seen)
	}
}
