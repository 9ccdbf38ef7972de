package github

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/internal/trackertest"
)

const sample = "../../testdata/workflows/github.md"

func TestTheProgramWorksOnAnIssueOfGitHub(t *testing.T) {
	t.Parallel()
	binary := trackertest.Build(t)
	const delivered = `{"title": "Keep the cart", "body": "It has wheels."}`
	t.Run("scripted agent", func(t *testing.T) {
		t.Parallel()
		g := newServer(t)
		p := trackertest.NewProgram(t, binary, "GITHUB_TOKEN", fakeToken, g.Env()...)
		worksOn(t, g, p, p.ScriptedAgent(), "- [ ] Run `"+trackertest.WorkCommand+"`\n- [ ] Call `deliver` with `"+delivered+"`\n")
	})
	t.Run("nothing to do among 1,200 issues", func(t *testing.T) {
		t.Parallel()
		f, p := newFake(t), trackertest.NewProgram(t, binary, "GITHUB_TOKEN", fakeToken)
		f.unlabeled(1200)
		f.AddLabel("symphony")
		r := f.tick(p, p.ScriptedAgent())
		if r.Code != 0 || !strings.Contains(r.Stdout, "Nothing to do") {
			t.Errorf("exit status %d\n%s\n%s", r.Code, r.Stdout, r.Stderr)
		}
		wantRequests(t, f, listPath+"&labels=symphony 200", "GET /repos/acme/shop/labels/symphony 200")
		for _, name := range []string{"GH-7", "gh-7", "7"} {
			if r := p.Explain(name); !strings.Contains(r.Stdout, `lacks the required label "symphony"`) {
				t.Errorf("explain %s: exit status %d\n%s\n%s", name, r.Code, r.Stdout, r.Stderr)
			}
		}
	})
	t.Run("told to wait for two minutes", func(t *testing.T) {
		t.Parallel()
		f, p := newFake(t), trackertest.NewProgram(t, binary, "GITHUB_TOKEN", fakeToken)
		f.failWith(http.StatusForbidden, map[string]string{"Retry-After": "120"}, `{}`)
		for run := range 2 {
			r := f.tick(p, p.ScriptedAgent())
			if r.Code != 1 || !strings.Contains(r.Stderr, "tracker_rate_limited") || !strings.Contains(r.Stdout, "not before 20") {
				t.Errorf("run %d: exit status %d\n%s\n%s", run+1, r.Code, r.Stdout, r.Stderr)
			}
			if asked := len(f.asked()); asked != 1-run {
				t.Errorf("run %d asked %d times, want once, and not again in the next run", run+1, asked)
			}
		}
	})
}

// tick runs the program once over the fake, with the sample workflow.
func (f *fake) tick(p *trackertest.Program, agent string) trackertest.Output {
	f.t.Helper()
	p.UseSample(sample, agent, "  provider:\n", "  provider:\n    repo: acme/shop\n    api_url: "+f.URL()+"\n",
		"\ndelivery:\n", "\nrepository: {url: "+f.URL()+"/acme/shop, token: $GITHUB_TOKEN}\ndelivery:\n")
	return p.Tick()
}

// newServer returns a GitHub with a repository.
func newServer(t *testing.T) *githubtest.GitHub {
	t.Helper()
	g := githubtest.New(t, storetest.Config{Repo: fakeRepo, Token: fakeToken})
	g.Commit("main", map[string]string{"README.md": "The shop.\n", ".gitignore": trackertest.Ignored})
	return g
}

// worksOn runs the program once with the sample workflow, in which the agent works on
// three issues, each in one session.
func worksOn(t *testing.T, g *githubtest.GitHub, p *trackertest.Program, agent, text string) {
	t.Helper()
	for n := range 3 {
		g.AddIssue(githubtest.Issue{Title: fmt.Sprintf("Carts forget %d", n+1), Body: text, Labels: []string{"bug", "symphony"}})
	}
	p.UseSample(sample, agent, "\ndelivery:\n", "\nrepository: {url: "+g.CloneURL()+"}\ndelivery:\n")
	r := p.Tick()
	if r.Code != 0 || !strings.Contains(r.Stdout, "3 completed") {
		t.Fatalf("exit status %d\n%s\n%s", r.Code, r.Stdout, r.Stderr)
	}
	pulls := map[string]githubtest.Pull{}
	for _, pull := range g.Pulls() {
		pulls[pull.Head] = pull
	}
	const base = "/api/v3/repos/acme/shop/"
	want := []string{
		"POST /api/graphql", "GET " + base + "collaborators/kim/permission", // whether the texts of the candidates can be trusted
		"GET " + base + "rules/branches/symphony/GH-1?per_page=100", // whether a rule would refuse all branches
	}
	for n := 1; n <= 3; n++ {
		identifier, closes := fmt.Sprintf("GH-%d", n), fmt.Sprintf("Fixes #%d", n)
		branch := "symphony/" + identifier
		if labels := g.Issue(n).Labels; !slices.Equal(labels, []string{"bug"}) {
			t.Errorf("the issue %s has the labels %q", identifier, labels)
		}
		if pull := pulls[branch]; len(pulls) != 3 || pull.Title != "Keep the cart" || !strings.Contains(pull.Body, closes) {
			t.Errorf("pull requests %+v", pulls)
		}
		if files := g.Git("diff", "--name-only", "main", branch); files != "cart.go" {
			t.Errorf("%s changes %q", branch, files)
		}
		p.CheckHandedOver(identifier)
		want = append(want,
			"GET "+base+"pulls?state=all&sort=created&direction=desc&per_page=100&head="+url.QueryEscape("acme:"+branch), "POST "+base+"pulls",
			fmt.Sprintf("DELETE %sissues/%d/labels/symphony", base, n))
	}
	rest := slices.DeleteFunc(g.Log(), func(request string) bool {
		isGit := strings.Contains(request, "/git-") || strings.Contains(request, "/info/refs")
		return isGit || strings.HasPrefix(request, "GET "+base+"issues") // how often an issue is read depends on the time
	})
	slices.Sort(want)
	slices.Sort(rest)
	if diff := cmp.Diff(want, rest); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
