package linear

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

const sample = "../../testdata/workflows/linear.md"

func TestTheProgramWorksOnAnIssueOfLinear(t *testing.T) {
	t.Parallel()
	binary := trackertest.Build(t)
	const comments = `{"query": "query ($id: String!) { issue(id: $id) { comments(first: 50) { nodes { body user { name } } } } }", "variables": {"id": "ISSUE"}}`
	const delivered = `{"title": "Keep the cart", "body": "It has wheels."}`
	t.Run("scripted agent", func(t *testing.T) {
		t.Parallel()
		f, g := newFake(t), newGitHub(t)
		p := trackertest.NewProgram(t, binary, "LINEAR_API_KEY", apiKey, g.Env()...)
		issue := f.add(tracker.Issue{Title: "Carts forget", State: "Todo"})
		issue["description"] = "- [ ] Run `" + trackertest.WorkCommand + "`\n- [ ] Call `linear_graphql` with `" + strings.ReplaceAll(comments, "ISSUE", issue["id"].(string)) +
			"`\n- [ ] Call `deliver` with `" + delivered + "`\n"
		f.worksOn(t, g, p, p.ScriptedAgent(), issue)
	})
	t.Run("nothing to do among 1,200 issues", func(t *testing.T) {
		t.Parallel()
		f, p := newFake(t), trackertest.NewProgram(t, binary, "LINEAR_API_KEY", apiKey, "GITHUB_TOKEN=ghs_0123456789abcdefghij")
		f.addMany(1200)
		r := f.tick(t, p, p.ScriptedAgent(), "project_slug: ", "required_labels: [symphony]\n  project_slug: ")
		if r.Code != 0 || !strings.Contains(r.Stdout, "Nothing to do") || f.counted() != 1 {
			t.Errorf("exit status %d, %d requests, want 0 by one\n%s\n%s", r.Code, f.counted(), r.Stdout, r.Stderr)
		}
	})
	t.Run("told to wait for two minutes", func(t *testing.T) {
		t.Parallel()
		f, p := newFake(t), trackertest.NewProgram(t, binary, "LINEAR_API_KEY", apiKey, "GITHUB_TOKEN=ghs_0123456789abcdefghij")
		reset := fmt.Sprint(time.Now().Add(2 * time.Minute).UnixMilli())
		f.broken = answer(400, `{"errors":[{"message":"Rate limit exceeded","extensions":{"code":"RATELIMITED"}}]}`,
			"X-RateLimit-Requests-Remaining", "0", "X-RateLimit-Requests-Reset", reset)
		for run := range 2 {
			r := f.tick(t, p, p.ScriptedAgent())
			if r.Code != 1 || !strings.Contains(r.Stderr, "tracker_rate_limited") || !strings.Contains(r.Stdout, "not before 20") || f.counted() != 1 {
				t.Errorf("run %d: exit status %d, %d requests in all, want 1\n%s\n%s", run+1, r.Code, f.counted(), r.Stdout, r.Stderr)
			}
		}
	})
}

// tick runs the program once over the fake, with the sample workflow.
func (f *fake) tick(t *testing.T, p *trackertest.Program, agent string, replacements ...string) trackertest.Output {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	p.UseSample(sample, agent, append(replacements, "kind: linear\n", "kind: linear\n  endpoint: "+server.URL+"\n")...)
	return p.Tick()
}

// newGitHub returns the GitHub with the repository of the sample.
func newGitHub(t *testing.T) *githubtest.GitHub {
	t.Helper()
	g := githubtest.New(t, storetest.Config{Repo: "acme/shop", Token: "ghs_0123456789abcdefghij"})
	g.Commit("main", map[string]string{"README.md": "The shop.\n", ".gitignore": trackertest.Ignored})
	return g
}

// worksOn runs the program once, in which the agent works on the issue in one session.
func (f *fake) worksOn(t *testing.T, g *githubtest.GitHub, p *trackertest.Program, agent string, issue object) {
	t.Helper()
	r := f.tick(t, p, agent, "url: https://github.com", "url: "+g.ServerURL())
	if r.Code != 0 || !strings.Contains(r.Stdout, "1 completed") {
		t.Fatalf("exit status %d\n%s\n%s", r.Code, r.Stdout, r.Stderr)
	}
	if state := issue["state"].(object)["name"]; state != "In Review" {
		t.Errorf("the issue is in %v", state)
	}
	if pulls := g.Pulls(); len(pulls) != 1 || pulls[0].Head != "symphony/ENG-1" || pulls[0].Title != "Keep the cart" || !strings.Contains(pulls[0].Body, "ENG-1") {
		t.Errorf("pull requests %+v", pulls)
	}
	if files := g.Git("diff", "--name-only", "main", "symphony/ENG-1"); files != "cart.go" {
		t.Errorf("the branch changes %q", files)
	}
	// The agent asks for comments. After its turn the issue is read, looked at and moved by the program, and read again.
	if diff := cmp.Diff([]string{"list", "other", "read", "read", "other", "read"}, f.kinds()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	p.CheckHandedOver("ENG-1")
}

// kinds returns the purpose of each request: a list, a read of the issue, or another one:
// a call by the agent or a change by the program. An issue is read once more when more than a second passes before
// its session starts, which can happen on a busy machine.
func (f *fake) kinds() []string {
	var kinds []string
	for _, query := range f.asked {
		switch {
		case strings.Contains(query, "$filter:IssueFilter!"):
			kinds = append(kinds, "list")
		case !strings.Contains(query, "$ids:[ID!]!"):
			kinds = append(kinds, "other")
		case len(kinds) != 1:
			kinds = append(kinds, "read")
		}
	}
	return kinds
}
