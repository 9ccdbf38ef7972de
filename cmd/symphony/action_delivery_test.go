package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
)

// deliveries is a repository on GitHub whose job has a sample workflow, as it stands,
// and a Codex that is the scripted agent. The job's HTTPS leads to servers of the test.
type deliveries struct {
	*machine
	github *githubtest.GitHub
	linear *linearProject
}

func newDeliveries(t *testing.T, sample string) *deliveries {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("Go trusts a certificate of the environment on Linux alone")
	}
	m := newMachine(t)
	m.repository, m.api = "acme/shop", "https://api.github.com"
	g := githubtest.New(t, storetest.Config{Repo: m.repository, Token: m.token, Root: "/"})
	m.hub = g.Hub
	m.write("WORKFLOW.md", readText(t, samplePath(sample)))
	m.write("README.md", "The shop.\n")
	m.pin("0.169.0", m.releases.publishAs("0.169.0", "shift\n"+m.agent()+` "$@"`))
	m.writeFile(filepath.Join(m.home, ".codex", "auth.json"), "{}") // somebody has logged in
	l := newLinear(t)
	m.behindProxy(map[string]string{"github.com": g.ServerURL(), "api.github.com": g.ServerURL(), "api.linear.app": l.URL,
		"artifacts.example.com": g.KeepArtifactsAt("https://artifacts.example.com")})
	return &deliveries{m, g, l}
}

// prepare gives the project a preparation, which notes that it ran, and has each session look for
// its files.
func (d *deliveries) prepare() {
	d.replace("delivery:", "setup:\n  run: echo ran >>'"+d.home+"/prepared.log' && mkdir node_modules && echo x >node_modules/x\n  keep: [node_modules]\n  inputs: [README.md]\n"+
		"hooks:\n  before_run: test -e node_modules/x\ndelivery:")
}

// checkPrepared fails the test unless the project was prepared so often, and the cache has each
// preparation once.
func (d *deliveries) checkPrepared(times int) {
	d.t.Helper()
	if ran, kept := strings.Count(d.logged("prepared.log"), "ran\n"), d.stored("symphony-setup-*"); ran != times || len(kept) != times {
		d.t.Errorf("the project was prepared %d times, want %d; the cache has %q", ran, times, kept)
	}
}

// publishCheckout makes the checkout the default branch of the repository, and then what
// actions/checkout makes of that: it has the newest commit alone.
func (d *deliveries) publishCheckout() {
	d.t.Helper()
	d.checkOut()
	folder := d.github.GitDir()
	shallow := d.t.TempDir()
	runGit(d.t, d.dir, "commit", "--quiet", "--allow-empty", "--message", "Open the shop")
	runGit(d.t, d.dir, "push", "--quiet", "--force", folder, "HEAD:refs/heads/main")
	runGit(d.t, shallow, "clone", "--quiet", "--depth=1", "--no-checkout", "file://"+folder, ".")
	runGit(d.t, shallow, "remote", "set-url", "origin", "https://github.com/"+d.repository)
	runGit(d.t, shallow, "reset", "--quiet")
	own := filepath.Join(d.dir, ".git")
	if err := errors.Join(os.RemoveAll(own), os.Rename(filepath.Join(shallow, ".git"), own)); err != nil {
		d.t.Fatal(err)
	}
}

// scripts are what the agent does on three issues: it commits its work, leaves it
// uncommitted, and forgets to publish it.
var scripts = []string{
	"- [ ] Run `echo package shop >cart.go && git add cart.go && git commit --quiet --message 'Keep the cart'`\n- [ ] Call `deliver` with `{\"title\": \"Keep the cart\", \"body\": \"It has wheels. @everybody\"}`\n",
	"- [ ] Create `list.go` containing `package shop`\n- [ ] Call `deliver` with `{\"title\": \"List the goods\", \"body\": \"In order.\"}`\n",
	"- [ ] Create `price.go` containing `package shop`\n",
}

// since returns how many of the requests after the first n are what count says.
func (d *deliveries) since(n int, count func(request string) bool) int {
	return len(slices.DeleteFunc(d.github.Log()[n:], func(request string) bool { return !count(request) }))
}

// checkOneFetch fails the test unless a job fetched the repository once: git asks for the
// list of branches, and then for what is new. The requests before the job are skipped.
func (d *deliveries) checkOneFetch(o outcome, skipped int) {
	d.t.Helper()
	begun := d.since(skipped, func(request string) bool { return strings.HasSuffix(request, "/info/refs?service=git-upload-pack") })
	if fetches := strings.Count(o.log, `msg="fetching the repository"`); fetches != 1 || begun < 1 || begun > 2 {
		d.t.Errorf("%d fetches, for which git began %d conversations:\n%s", fetches, begun, strings.Join(d.github.Log()[skipped:], "\n"))
	}
}

// isDelivery reports whether a request to the REST API is about publishing work or
// handing an issue over, which also reads the issue once.
func isDelivery(request string) bool {
	return strings.Contains(request, "/pulls") || strings.Contains(request, "/labels") || strings.Contains(request, "/comments")
}

// checkPulls fails the test unless these are the pull requests, each with one file and
// one commit that is on top of the default branch.
func (d *deliveries) checkPulls(titles, files []string) {
	d.t.Helper()
	pulls := d.github.Pulls()
	if len(pulls) != len(titles) {
		d.t.Fatalf("%d pull requests: %+v", len(pulls), pulls)
	}
	slices.SortFunc(pulls, func(a, b githubtest.Pull) int { return strings.Compare(a.Head, b.Head) })
	for i, p := range pulls {
		branch := fmt.Sprintf("symphony/GH-%d", i+1)
		if p.Head != branch || p.Base != "main" || p.Title != titles[i] || p.State != "open" || p.Draft {
			d.t.Errorf("pull request %+v", p)
		}
		changed := d.github.Git("diff", "--name-only", "main", branch)
		commits := d.github.Git("rev-list", "--count", "main.."+branch)
		if changed != files[i] || commits != "1" || d.github.Git("merge-base", "main", branch) != d.github.Head("main") {
			d.t.Errorf("%s has %s commits that change %q", branch, commits, changed)
		}
	}
}

func TestTheSampleOfGitHubBringsThreeIssuesToThreePullRequests(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, "github.md")
	d.prepare()
	d.publishCheckout()
	main := d.github.Head("main")
	for n, script := range scripts {
		d.github.AddIssue(githubtest.Issue{Title: fmt.Sprintf("Work %d", n+1), Body: script, Labels: []string{"bug", "symphony"}})
	}
	d.github.AddIssue(githubtest.Issue{Title: "Not asked for", Body: scripts[0]})
	d.github.AddIssue(githubtest.Issue{Title: "A stranger's", Body: scripts[0], Author: "mallory"})

	o := d.job().perform()
	o.want(t, "success", "work", "true", "dispatched", "3", "completed", "3", "failed", "0", "parked", "0", "retrying", "0")
	d.checkPulls([]string{"Keep the cart", "List the goods", "GH-3: Work 3"}, []string{"cart.go", "list.go", "price.go"})
	for n := 1; n <= 3; n++ {
		if i := d.github.Issue(n); i.State != "open" || !slices.Equal(i.Labels, []string{"bug"}) {
			t.Errorf("afterwards the issue is %+v", i)
		}
	}
	if n := strings.Count(o.summary, checksWait); n != 1 {
		t.Errorf("the summary says %d times that checks wait:\n%s", n, o.summary)
	}
	var listed []struct{ URL string }
	if err := json.Unmarshal([]byte(o.outputs["pull-requests"]), &listed); err != nil || len(listed) != 3 {
		t.Errorf("the output pull-requests: %v\n%s", err, o.outputs["pull-requests"])
	}
	for _, p := range d.github.Pulls() {
		address := fmt.Sprintf("%s/pull/%d", d.github.CloneURL(), p.Number)
		if !strings.Contains(o.summary, address) || !strings.Contains(o.outputs["pull-requests"], address) {
			t.Errorf("%s is not in the summary or the output:\n%s\n%s", address, o.summary, o.outputs["pull-requests"])
		}
		number := strings.TrimPrefix(p.Head, "symphony/GH-")
		message := d.github.Git("log", "-1", "--format=%B", p.Head)
		if !strings.Contains(p.Body, "Fixes #"+number) || !strings.Contains(message, "Fixes #"+number) || strings.Contains(p.Body+message, "@everybody") {
			t.Errorf("the text of %s:\n%s\nof its commit:\n%s", p.Head, p.Body, message)
		}
	}
	if d.github.Head("main") != main || len(d.github.Branches()) != 5 {
		t.Errorf("branches %v, and main was at %s", d.github.Branches(), main)
	}
	d.checkOneFetch(o, 0)
	if n := d.since(0, isDelivery) + 3; n > 18 {
		t.Errorf("%d requests for three new pull requests:\n%s", n, strings.Join(d.github.Log(), "\n"))
	}

	d.checkPrepared(1)

	d.goesOnAfterReview(t, main)
	d.checkPrepared(1)
}

// goesOnAfterReview has a reviewer of the first pull request ask for more.
func (d *deliveries) goesOnAfterReview(t *testing.T, main string) {
	t.Helper()
	head, before := d.github.Head("symphony/GH-1"), len(d.github.Log())
	d.github.Edit(1, "- [ ] Run `test -e cart.go`\n- [ ] Create `wheel.go` containing `package shop`\n- [ ] Call `deliver` with `{\"title\": \"Keep the cart\", \"body\": \"It has four wheels.\"}`\n")
	d.github.PutOn(1, "symphony")
	o := d.job().perform()
	o.want(t, "success", "dispatched", "1", "completed", "1", "parked", "0", "retrying", "0")
	pulls := d.github.Pulls()
	if len(pulls) != 3 || !strings.Contains(pulls[0].Body+pulls[1].Body+pulls[2].Body, "four wheels") {
		t.Errorf("after the review the pull requests are %+v", pulls)
	}
	if d.github.Git("rev-parse", "symphony/GH-1^") != head || d.github.Git("diff", "--name-only", "main", "symphony/GH-1") != "cart.go\nwheel.go" || d.github.Head("main") != main {
		t.Errorf("the branch holds\n%s", d.github.Git("log", "--stat", "main..symphony/GH-1"))
	}
	if i := d.github.Issue(1); !slices.Equal(i.Labels, []string{"bug"}) {
		t.Errorf("the labels of the issue are %q", i.Labels)
	}
	d.checkOneFetch(o, before)
	if n := d.since(before, isDelivery) + 1; n > 4 {
		t.Errorf("%d requests for an update:\n%s", n, strings.Join(d.github.Log()[before:], "\n"))
	}
}
