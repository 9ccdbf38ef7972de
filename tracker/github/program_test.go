package github

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/codex/codextest"
	"github.com/symphony-runner/symphony/tracker/trackertest"
)

const sample = "../../testdata/workflows/github.md"

// calls returns the calls of github_api that the sample's prompt gives the agent,
// for the issue 1.
func calls(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```json\n(.*?)\n```").FindStringSubmatch(string(text))
	if block == nil {
		t.Fatal("the sample has no calls")
	}
	return strings.Split(strings.NewReplacer("{{ issue.identifier }}", "GH-1", "{{ issue.id }}", "1").Replace(block[1]), "\n")
}

func TestTheProgramWorksOnAnIssueOfGitHub(t *testing.T) {
	t.Parallel()
	binary := trackertest.Build(t)
	t.Run("scripted agent", func(t *testing.T) {
		t.Parallel()
		f, p := newFake(t), trackertest.NewProgram(t, binary, "GITHUB_TOKEN", fakeToken)
		script := "- [ ] Run `" + trackertest.WorkCommand + "`\n\n## Next turn\n\n"
		for _, call := range calls(t) {
			script += "- [ ] Call `github_api` with\n\n```json\n" + call + "\n```\n\n"
		}
		f.worksOn(p, p.ScriptedAgent(), script)
	})
	t.Run("the real Codex", func(t *testing.T) {
		t.Parallel()
		codex := codextest.Path(t)
		f, p := newFake(t), trackertest.NewProgram(t, binary, "GITHUB_TOKEN", fakeToken)
		replies := []codextest.Reply{
			trackertest.ToolCall("exec_command", `{"cmd": "`+trackertest.WorkCommand+`"}`),
			{Items: []codextest.Item{codextest.Message{Text: "All is committed."}}},
		}
		for _, call := range calls(t) {
			replies = append(replies, trackertest.ToolCall("github_api", call))
		}
		f.worksOn(p, p.RealCodex(codex, codextest.Lane{Replies: replies}), "Carts forget what is in them.")
	})
	t.Run("nothing to do among 1,200 issues", func(t *testing.T) {
		t.Parallel()
		f, p := newFake(t), trackertest.NewProgram(t, binary, "GITHUB_TOKEN", fakeToken)
		f.unlabelled(1200)
		f.labels = []string{"symphony"}
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
	t.Run("told to wait for a second", func(t *testing.T) {
		t.Parallel()
		f, p := newFake(t), trackertest.NewProgram(t, binary, "GITHUB_TOKEN", fakeToken)
		f.put(func(i *fakeIssue) { i.state = stateClosed })
		limits := 1
		f.setFault(func(w http.ResponseWriter, _ *http.Request) bool {
			if limits--; limits < 0 {
				return false
			}
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusForbidden)
			return true
		})
		r := f.tick(p, p.ScriptedAgent())
		if asked := f.asked(); r.Code != 0 || !strings.Contains(r.Stdout, "Nothing to do") || len(asked) < 2 || !strings.HasSuffix(asked[1], " 200") {
			t.Errorf("exit status %d, asked %q\n%s\n%s", r.Code, asked, r.Stdout, r.Stderr)
		}
	})
	t.Run("told to wait for two minutes", func(t *testing.T) {
		t.Parallel()
		f, p := newFake(t), trackertest.NewProgram(t, binary, "GITHUB_TOKEN", fakeToken)
		f.failWith(http.StatusForbidden, map[string]string{"Retry-After": "120"}, `{}`)
		for run := range 2 {
			r := f.tick(p, p.ScriptedAgent())
			if r.Code != 1 || !strings.Contains(r.Stdout, "tracker_rate_limited") || !strings.Contains(r.Stdout, "not before 20") {
				t.Errorf("run %d: exit status %d\n%s\n%s", run+1, r.Code, r.Stdout, r.Stderr)
			}
			if asked := len(f.asked()); asked != 1-run {
				t.Errorf("run %d asked %d times, want once, and not again in the next run", run+1, asked)
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		f, p := newFake(t), trackertest.NewProgram(t, binary, "GITHUB_TOKEN", fakeToken)
		f.failWith(http.StatusForbidden, nil, `{"message": "`+fakeToken+` is not accessible"}`)
		r := f.tick(p, p.ScriptedAgent())
		if r.Code != 1 || !strings.Contains(r.Stdout, "tracker_status") {
			t.Errorf("exit status %d\n%s\n%s", r.Code, r.Stdout, r.Stderr)
		}
	})
}

// tick runs the program once over the fake, with the sample workflow.
func (f *fake) tick(p *trackertest.Program, agent string) trackertest.Output {
	f.t.Helper()
	p.UseSample(sample, agent, "repo: acme/shop\n", "repo: acme/shop\n    api_url: "+f.server.URL+"\n")
	return p.Tick()
}

// worksOn runs the program once, in which the agent works on an issue in one
// session and hands it over in the next.
func (f *fake) worksOn(p *trackertest.Program, agent, text string) {
	f.t.Helper()
	number := f.put(func(i *fakeIssue) { i.body, i.labels = text, []string{"bug", "symphony"} })
	f.pushed = func(branch string) bool {
		return p.Git("-C", p.Repo, "for-each-ref", "--format=%(refname)", "refs/heads/"+branch) != ""
	}
	r := f.tick(p, agent)
	if r.Code != 0 || !strings.Contains(r.Stdout, "1 completed") {
		f.t.Fatalf("exit status %d\n%s\n%s", r.Code, r.Stdout, r.Stderr)
	}
	if labels := f.issues[number].labels; !slices.Equal(labels, []string{"bug"}) {
		f.t.Errorf("the issue has the labels %q", labels)
	}
	if len(f.pulls) != 1 || f.pulls[0]["head"] != "symphony/GH-1" || len(f.comments) != 1 {
		f.t.Errorf("pull requests %v, comments %q", f.pulls, f.comments)
	}
	// What has not changed is asked for by its ETag, and costs nothing.
	charged := slices.DeleteFunc(f.asked(), func(request string) bool { return strings.HasSuffix(request, " 304") })
	const list, base = listPath + "&labels=symphony 200", "/repos/acme/shop/"
	want := []string{
		list, "POST /graphql 200", memRequest, // the candidates, and whether the text of the one can be trusted
		"POST " + base + "pulls 201", "POST " + base + "issues/1/comments 201", "DELETE " + base + "issues/1/labels/symphony 200",
		list, "GET " + base + "issues/1 200", // it lost the label, and is still there
	}
	if diff := cmp.Diff(want, charged); diff != "" {
		f.t.Errorf("requests (-want +got):\n%s", diff)
	}
	p.CheckHandedOver("GH-1")
}
