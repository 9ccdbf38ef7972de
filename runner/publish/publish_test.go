package publish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/runner/receipt"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

func TestWorkBecomesOneCommitAndAPullRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Pull = PullRequests{Labels: []string{"agent"}, Reviewers: []string{"ada", "acme/core"}, Assignees: []string{"bob"}}
	w := f.session(func(folder string) {
		f.adds("cart.go", "package cart\n")(folder)
		f.git(folder, "add", "-A")
		f.git(folder, "commit", "-q", "-m", "Fixes #1 for @admin")
		f.adds("go.mod", "module cart\n")(folder)
	})
	w.Text = "It has wheels. Fixes #8, thanks @admin. The password is " + ourSecret
	r := f.publish(w)
	if r.State != PullOpened || !r.Pushed || r.Record.Number != 1 || r.Record.URL != f.github.CloneURL()+"/pull/1" || !r.Record.At.Equal(now) {
		t.Errorf("got %+v", r)
	}
	if got, want := f.onBranch("log", "--format=%an <%ae> %B"), f.git(f.origin, "log", "--format=%an <%ae> %B", "main"); got !=
		"Symphony <symphony@example.com> Add a cart\n\nIt has wheels. F\u200bixes #8, thanks @\u200badmin. The password is ***\n\nFixes #7\n\n"+want {
		t.Errorf("the branch has the commits %q", got)
	}
	if got := f.git(f.origin, "diff", "--name-only", "main", "symphony/GH-7"); got != "cart.go\ngo.mod\n" {
		t.Errorf("the branch changes %q", got)
	}
	pull := f.github.Pulls()[0]
	first, rest, _ := strings.Cut(pull.Body, "\n")
	if want := "<!-- symphony: issue=GH-7 head=" + r.Record.Head.String() + " title=" + digest("Add a cart") + " text="; !strings.HasPrefix(first, want) {
		t.Errorf("the body begins with %q, want %q", first, want)
	}
	want := "Fixes #7\n\nAn agent wrote this.\n\nLook at these files with care:\n\n- `go.mod`\n\n<!-- symphony: by the agent -->\n\nIt has wheels. F\u200bixes #8, thanks @\u200badmin. The password is ***\n"
	if diff := cmp.Diff(want, rest); diff != "" {
		t.Error(diff)
	}
	if pull.Title != "Add a cart" || pull.Draft || pull.Base != "main" {
		t.Errorf("the pull request is %+v", pull)
	}
	if got, want := f.took(), "GET /repos/acme/shop/pulls\nPOST /repos/acme/shop/pulls\nPATCH /repos/acme/shop/issues/1\n"+
		"POST /repos/acme/shop/pulls/1/requested_reviewers"; got != want {
		t.Errorf("requests:\n%s\nwant:\n%s", got, want)
	}
	if len(f.saved) != 2 || f.saved[0].Pushing != r.Record.Head || !f.saved[0].Head.IsZero() || f.saved[1] != r.Record || r.Record.Number != 1 {
		t.Errorf("saved %+v", f.saved)
	}
}

// A request takes a part of an hour's allowance, and a while.
func TestADeliveryMakesFewRequests(t *testing.T) {
	t.Parallel()
	const maxNew, maxUpdate = 6, 4
	f := newFixture(t)
	f.Pull = PullRequests{Labels: []string{"agent", "review"}, Reviewers: []string{"ada", "acme/core"}, Assignees: []string{"bob"}}
	var last Record
	for _, step := range []struct {
		name   string
		agent  func(string)
		before func()
		max    int
	}{
		{"a new pull request", f.adds("a", "1\n"), func() {}, maxNew},
		{"an update", f.adds("b", "2\n"), func() {}, maxUpdate},
		{"an update by hand", f.adds("c", "3\n"), func() { f.edit(nil, new("by hand")) }, maxUpdate},
		{"another one after a merge", f.adds("d", "4\n"), func() { f.merge("squash") }, maxNew},
	} {
		step.before()
		w := f.next(last, step.agent)
		f.took()
		last = f.publish(w).Record
		if requests := f.took(); strings.Count(requests, "\n")+1 > step.max {
			t.Errorf("%s takes more than %d requests:\n%s", step.name, step.max, requests)
		}
	}
	if _, err := f.Settle(t.Context(), f.idle(last), now); err != nil || f.took() != "GET /repos/acme/shop/pulls" {
		t.Errorf("settled: %v", err)
	}
}

func TestTheNextSessionAddsACommitAndUpdatesThePullRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.publish(f.session(f.adds("a", "1\n")))
	f.took()
	w := f.session(f.adds("b", "2\n"))
	w.Last = first.Record
	second := f.publish(w)
	if second.State != PullUpdated || !second.Pushed || second.Record.Number != 1 {
		t.Errorf("got %+v", second)
	}
	if got := f.onBranch("rev-list", "--count"); got != "3\n" {
		t.Errorf("the branch has %s commits, want 3", got)
	}
	if got, want := f.took(), "GET /repos/acme/shop/pulls\nPATCH /repos/acme/shop/pulls/1"; got != want {
		t.Errorf("requests:\n%s\nwant:\n%s", got, want)
	}
}

func TestTheSameWorkIsPublishedAndSavedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.publish(f.session(f.adds("a", "1\n")))
	f.saved = nil
	w := f.session(func(folder string) {
		f.adds("b", "")(folder)
		f.git(folder, "add", "-A")
		f.git(folder, "commit", "-q", "-m", "add")
		f.git(folder, "revert", "--no-edit", "HEAD")
	})
	w.Last = first.Record
	again := f.publish(w)
	if again.Pushed || again.State != PullUnchanged || again.Record != first.Record || len(f.saved) > 0 {
		t.Errorf("got %+v, saved %+v", again, f.saved)
	}
}

// The agent's own commits are published with all that was in them for a while.
func TestEveryCommitOfAKeptHistoryIsJudged(t *testing.T) {
	t.Parallel()
	write := func(name, text string) func(f *fixture, folder string) {
		return func(f *fixture, folder string) { f.adds(name, text)(folder) }
	}
	for name, test := range map[string]struct {
		first func(f *fixture, folder string) // what the first commit does and the second one undoes
		want  string                          // why it is refused; empty if it is not
	}{
		"a workflow":  {write(".github/workflows/x.yml", "on: push\n"), ".github/workflows/x.yml: in the commit"},
		"WORKFLOW.md": {write("WORKFLOW.md", "x"), "the path is protected (WORKFLOW.md)"},
		"a link": {func(f *fixture, folder string) {
			f.check(os.Symlink("/etc/passwd", filepath.Join(folder, "link")))
		}, "link: in the commit"},
		"a large file": {write("big", strings.Repeat("0123456789", 500_000)), "delivery.max_bytes"},
		"many names":   {func(f *fixture, folder string) { f.adds("Case", "1")(folder); f.adds("case", "2")(folder) }, "the same file as"},
		"nothing bad":  {write("harmless", "x"), ""},
	} {
		for _, keep := range []bool{true, false} {
			if !keep && name != "a workflow" {
				continue
			}
			t.Run(fmt.Sprintf("%s, kept %v", name, keep), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				f.KeepHistory = keep
				w := f.session(func(folder string) {
					test.first(f, folder)
					f.git(folder, "add", "-A")
					f.git(folder, "commit", "-q", "-m", "one")
					f.git(folder, "rm", "-q", "-r", "--ignore-unmatch", "-f", ".github/workflows/x.yml", "WORKFLOW.md", "link", "big", "Case", "case", "harmless")
					f.git(folder, "commit", "-q", "-m", "two")
					f.adds("cart.go", "package shop\n")(folder)
				})
				r, err := f.Publish(t.Context(), w, now)
				f.check(err)
				if got := r.Verdict.Reasons(); !keep && got != "" || keep && (test.want == "") != (got == "") || keep && !strings.Contains(got, test.want) {
					t.Errorf("refused: %q", got)
				}
			})
		}
	}
}

// What others have changed on main, and what is on the branch already, is no agent's.
func TestAKeptHistoryWithOthersChangesIsPublished(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.KeepHistory = true
	first := f.publish(f.session(f.adds("a", "1\n")))
	f.git(".", "clone", "-q", "-b", "symphony/GH-7", f.origin, "person")
	f.write("person/.github/workflows/ci.yml", "on: pull_request\n")
	f.git("person", "commit", "-q", "-a", "-m", "by a person")
	f.git("person", "push", "-q", "origin", "HEAD")
	f.git(".", "clone", "-q", f.origin, "seed")
	f.write("seed/.github/CODEOWNERS", "* @kim\n")
	f.git("seed", "add", "-A")
	f.git("seed", "commit", "-q", "-m", "second")
	f.git("seed", "push", "-q", f.origin, "main")
	w := f.session(func(folder string) {
		f.adds("b", "2\n")(folder)
		f.git(folder, "add", "-A")
		f.git(folder, "commit", "-q", "-m", "one")
		f.git(folder, "merge", "-q", "--no-edit", "origin/main")
		f.adds("c", "3\n")(folder)
	})
	w.Last = first.Record
	if r := f.publish(w); !r.Pushed {
		t.Errorf("%+v", r)
	}
}

// What git cannot take is named to the people who look at the work, without what it hides.
func TestThePullRequestNamesWhatGitCannotTake(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(f.session(func(folder string) {
		f.adds("a", "1\n")(folder)
		f.git(folder, "init", "-q", "nested `"+ourSecret)
	}))
	const want = "These files of the agent are not in this work, because Git cannot take them:\n\n- `nested '***/` (a repository of its own)\n"
	if body := f.github.Pulls()[0].Body; !strings.Contains(body, want) {
		t.Errorf("the pull request says\n%s", body)
	}
}

func TestATextThatAPersonWroteStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.publish(f.session(f.adds("a", "1\n")))
	f.edit(nil, new(f.github.Pulls()[0].Body+"\nReviewed by hand."))
	w := f.session(f.adds("b", "2\n"))
	w.Last, w.Title = first.Record, "Another title"
	if second := f.publish(w); second.State != PullUnchanged || f.github.Pulls()[0].Title != "Add a cart" || !strings.HasSuffix(f.github.Pulls()[0].Body, "Reviewed by hand.") {
		t.Errorf("got %+v, %q", second, f.github.Pulls()[0].Body)
	}
}

func TestPeoplesCommitsOnTheBranchAreKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.publish(f.session(f.adds("a", "1\n")))
	f.git(".", "clone", "-q", "-b", "symphony/GH-7", f.origin, "person")
	f.write("person/.github/workflows/ci.yml", "on: pull_request\n")
	f.git("person", "commit", "-q", "-a", "-m", "by a person")
	late := f.session(f.adds("b", "2\n"))
	late.Last = first.Record
	f.git("person", "push", "-q", "origin", "HEAD")
	if r, err := f.Publish(t.Context(), late, now); !errors.Is(err, git.ErrMoved) || r.Secret {
		t.Errorf("a session that does not have them: %+v, %v", r, err)
	}
	w := f.session(f.adds("c", "3\n"))
	w.Last = first.Record
	if r := f.publish(w); !r.Pushed {
		t.Errorf("a session that has them: %+v", r)
	}
	if got := f.onBranch("log", "--format=%s"); !strings.HasPrefix(got, "Add a cart\nby a person\nAdd a cart\n") {
		t.Errorf("the branch has the commits %q", got)
	}
}

// Work that has no place to go to is kept as files, too.
func TestWorkUnderWhichTheBranchMovedSaysWhetherItHoldsASecret(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before the fetch", "after it"} {
		f := newFixture(t)
		w := f.session(func(folder string) {
			f.adds("a", ourSecret)(folder)
			f.git(folder, "add", "-A")
			f.git(folder, "commit", "-q", "-m", "one")
			f.adds("a", "harmless\n")(folder)
		})
		f.git(f.origin, "branch", "symphony/GH-7", "main")
		if when == "before the fetch" {
			w.RemoteHead = git.ObjectID{1}
		}
		r, err := f.Publish(t.Context(), w, now)
		if refused := len(r.Verdict.Refusals) > 0; !refused && !errors.Is(err, git.ErrMoved) || !r.Secret {
			t.Errorf("moved %s: got %+v, %v", when, r, err)
		}
	}
}

func TestARunThatWasKilledAfterItsPushIsGoneOnWith(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	idle := f.halfPublished(f.adds("a", "1\n"))
	if len(f.github.Pulls()) > 0 {
		t.Fatal("there is a pull request already")
	}
	next := f.session(f.adds("b", "2\n"))
	next.Last = idle.Last // what the killed run left
	r := f.publish(next)
	if r.State != PullOpened || len(f.github.Pulls()) != 1 || !r.Record.Pushing.IsZero() {
		t.Errorf("got %+v, %d pull requests", r, len(f.github.Pulls()))
	}
	if got := f.remote(); got != "refs/heads/main\nrefs/heads/symphony/GH-7\n" {
		t.Errorf("the remote has %q", got)
	}
}

func TestThePullRequestKeepsTheAgentsTextUntilThereIsAnother(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	last := f.publish(f.session(f.adds("a", "1\n"))).Record
	for n, step := range []struct{ text, want string }{{"", "It has wheels."}, {"It has doors.", "It has doors."}, {"", "It has doors."}} {
		w := f.session(f.adds(fmt.Sprint("b", n), "2\n"))
		w.Last, w.Text, w.Receipt.Look = last, step.text, fmt.Sprint("looked ", n, " times")
		r := f.publish(w)
		last = r.Record
		_, got, _ := strings.Cut(f.github.Pulls()[0].Body, "\n")
		if want := "Fixes #7\n\nAn agent wrote this.\n\n- **Second look:** " + w.Receipt.Look + "\n\n<!-- symphony: by the agent -->\n\n" + step.want + "\n"; got != want || r.State != PullUpdated {
			t.Errorf("%s: the body is %q, want %q", r.State, got, want)
		}
	}
}

// A title of the agent replaces an earlier one of this program, and no title of a person.
func TestThePullRequestKeepsTheAgentsTitleUntilThereIsAnother(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	last := f.publish(f.session(f.adds("a", "1\n"))).Record
	w := f.session(f.adds("b", "2\n"))
	for _, step := range []struct {
		name, title, text, byPerson, want string
		state                             PullState
	}{
		{name: "a title alone", title: "Add a door", text: "It has wheels.", want: "Add a door", state: PullUpdated},
		{name: "the same again", title: "Add a door", text: "It has wheels.", want: "Add a door", state: PullUnchanged},
		{name: "none", text: "It has doors.", want: "Add a door", state: PullUpdated},
		{name: "a title and a text", title: "Add two doors", text: "It has two.", want: "Add two doors", state: PullUpdated},
		{name: "after a person's title", byPerson: "feat: doors", title: "Add a roof", text: "It has a roof.", want: "feat: doors", state: PullUpdated},
		{name: "still after it", title: "Add a roof", text: "It has a roof.", want: "feat: doors", state: PullUnchanged},
	} {
		if step.byPerson != "" {
			f.edit(&step.byPerson, nil)
		}
		w.Last, w.RemoteHead, w.Title, w.Text = last, last.Head, step.title, step.text
		r := f.publish(w)
		last = r.Record
		if pull := f.github.Pulls()[0]; pull.Title != step.want || r.State != step.state || !strings.Contains(pull.Body, step.text) {
			t.Errorf("%s: %s, the title is %q, want %s and %q; the body is\n%s", step.name, r.State, pull.Title, step.state, step.want, pull.Body)
		}
	}
}

// An earlier release wrote no digest of the title, so who wrote the title is not known.
func TestATitleOfUnknownOriginStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.publish(f.session(f.adds("a", "1\n")))
	f.edit(nil, new(regexp.MustCompile(` title=[0-9a-f]{64}`).ReplaceAllString(f.github.Pulls()[0].Body, "")))
	w := f.session(f.adds("b", "2\n"))
	w.Last, w.Title, w.Text = first.Record, "Add a door", "It has doors."
	if r := f.publish(w); r.State != PullUpdated || f.github.Pulls()[0].Title != "Add a cart" || !strings.Contains(f.github.Pulls()[0].Body, "It has doors.") {
		t.Errorf("%s, %+v", r.State, f.github.Pulls()[0])
	}
}

func TestThePullRequestSaysThatAnAgentWroteItWhereAndHowToAskForMore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Publisher.Listens = true
	published := func(run string, w Work) (Result, string) {
		f.Publisher.Run = "[run " + run + "](https://github.example/acme/shop/actions/runs/" + run + "/attempts/1)"
		r := f.publish(w)
		return r, f.github.Pulls()[0].Body
	}
	w := f.session(f.adds("a", "1\n"))
	w.Text = "An agent wrote this in [run 9](https://evil.example/) and nobody must read it."
	r, first := published("123", w)
	want := "An agent wrote this in [run 123](https://github.example/acme/shop/actions/runs/123/attempts/1). " +
		"To ask for more, comment here or on a line, with write access to this repository.\n"
	if head, _, _ := strings.Cut(first, byAgent); !strings.Contains(head, want) || strings.Contains(head, "evil") {
		t.Errorf("the body is %q, want %q", first, want)
	}
	w.Last = r.Record
	if r, again := published("124", w); r.State != PullUnchanged || again != first {
		t.Errorf("a later run without anything new: %s\n%s", r.State, again)
	}
	w = f.session(f.adds("b", "1\n"))
	w.Last = r.Record
	if r, again := published("125", w); r.State != PullUpdated || !strings.Contains(again, "[run 125](") {
		t.Errorf("a later run with new work: %s\n%s", r.State, again)
	}
}

func TestAPushOfAKilledRunIsDatedWhenItIsFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	last := f.halfPublished(f.adds("a", "1\n")).Last
	w := f.session(func(folder string) { f.git(folder, "commit", "-q", "--allow-empty", "-m", "again") })
	w.Last = last
	if r := f.publish(w); r.Pushed || r.State != PullOpened || r.Record.Head != last.Pushing || !r.Record.Pushing.IsZero() || !r.Record.At.Equal(now) {
		t.Errorf("got %+v", r)
	}
}

func TestAPushIsSavedThoughItsPullRequestFailed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.refuse("POST /pulls", http.StatusForbidden, 1, `{"message":"GitHub Actions is not permitted to create or approve pull requests."}`)
	r, err := f.Publish(t.Context(), f.session(f.adds("a", "1\n")), now)
	if !errors.Is(err, ErrNotPermitted) || len(f.saved) != 2 || f.saved[1] != r.Record || r.Record.Head.IsZero() || !r.Record.Pushing.IsZero() {
		t.Errorf("saved %+v, got %+v, %v", f.saved, r, err)
	}
}

func TestNothingIsPushedThatWasNotSaved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.session(f.adds("a", "1\n"))
	lost := errors.New("state_conflict")
	w.Save = func(context.Context, Record) error { return lost }
	if _, err := f.Publish(t.Context(), w, now); !errors.Is(err, lost) {
		t.Errorf("got %v", err)
	}
	if got := f.remote(); got != "refs/heads/main\n" {
		t.Errorf("the remote has %q", got)
	}
}

func TestRefusedWorkStaysHere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for want, agent := range map[string]func(string){
		".github/workflows/ci.yml: the path is protected": f.adds(".github/workflows/ci.yml", "evil"),
		"a: line 1 holds a secret of this run":            f.adds("a", "x "+ourSecret),
		"model.bin: it is a pointer of Git LFS":           f.adds("model.bin", "the model itself"),
		"readme.md: on some file systems":                 f.adds("readme.md", "twin"),
		"docs: on some file systems": func(folder string) {
			f.adds("docs/a", "")(folder)
			f.adds("Docs/b", "")(folder)
		},
		"link: the symbolic link leaves": func(folder string) { f.check(os.Symlink("../../etc/passwd", filepath.Join(folder, "link"))) },
	} {
		t.Run(want, func(t *testing.T) {
			r, err := f.Publish(t.Context(), f.session(agent), now)
			if err != nil || len(r.Verdict.Refusals) != 1 || !strings.HasPrefix(r.Verdict.Refusals[0].Error(), want) {
				t.Errorf("got %v, %v", r.Verdict.Refusals, err)
			}
			if got := f.remote(); got != "refs/heads/main\n" || r.Pushed || len(f.saved) > 0 {
				t.Errorf("the remote has %q; saved %v", got, f.saved)
			}
		})
	}
	if got := f.took(); got != "" {
		t.Errorf("requests:\n%s", got)
	}
}

// The commands of [Keep] are advice, so they are followed as they stand.
func TestKeptWorkCanBeTakenByHand(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.session(f.adds(".github/x", "refused"))
	folder := filepath.Join(f.dir, "kept")
	commands, err := Keep(t.Context(), w.Incoming, folder, f.branch)
	f.check(err)
	if branch, ok := KeptBranch(commands); !ok || branch != f.branch {
		t.Errorf("commands for %q, %t: %q", branch, ok, commands)
	}
	f.git(".", "clone", "-q", f.origin, "person")
	for _, name := range []string{BundleFile, PatchFile} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		f.check(err)
		f.write("person/"+name, string(text))
	}
	for _, command := range commands {
		f.run("person", nil, "sh", "-c", command)
	}
	if got := f.git("person", "show", "symphony/GH-7:.github/x"); got != "refused" {
		t.Errorf("the branch has %q", got)
	}
	if got := f.git("person", "diff", "--cached", "--name-only"); got != ".github/x\n" {
		t.Errorf("the patch changes %q", got)
	}
}

func TestCommandsOfOthersAreNotKnownAsOurs(t *testing.T) {
	t.Parallel()
	const fetch = "git fetch " + BundleFile + " refs/heads/out:refs/heads/symphony/GH-7+2"
	if branch, ok := KeptBranch([]string{fetch, "git diff " + strings.Repeat("a", 40) + " symphony/GH-7+2"}); !ok || branch.String() != "symphony/GH-7+2" {
		t.Errorf("the commands for a branch with a number are for %q, %t", branch, ok)
	}
	for _, command := range []string{
		"git diff " + strings.Repeat("a", 40) + " main", "git fetch work.bundle refs/heads/out:refs/heads/main",
		"", "sh", "git fetch work.bundle refs/heads/out:refs/heads/x; sh", "git fetch work.bundle refs/heads/out:refs/heads/$(sh)",
		"git fetch --upload-pack=sh work.bundle", "git diff " + strings.Repeat("a", 40) + " --output=/etc/x", "git diff HEAD x",
		"git apply --index work.patch\nsh", "git apply --index work.patch\n", "git apply --index ../work.patch", "mkdir -p .git/lfs && cp -R /etc .git/lfs",
	} {
		if _, ok := KeptBranch([]string{fetch, command}); ok {
			t.Errorf("%q", command)
		}
	}
	if _, ok := KeptBranch([]string{"git apply --index " + PatchFile}); ok {
		t.Error("commands without a branch")
	}
}

func TestSecretsInTheHistoryLeaveWithTheHistoryOnly(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		f := newFixture(t)
		f.KeepHistory = keep
		w := f.session(func(folder string) {
			f.adds(ourSecret, "harmless")(folder)
			f.git(folder, "add", "-A")
			f.git(folder, "commit", "-q", "-m", "one")
			f.git(folder, "mv", ourSecret, "a")
			f.git(folder, "commit", "-q", "-m", "two")
		})
		r, err := f.Publish(t.Context(), w, now)
		if refused := len(r.Verdict.Refusals) > 0; err != nil || refused != keep {
			t.Errorf("history kept %t: %+v, %v", keep, r.Verdict, err)
		}
	}
}

// What is kept as files leaves with the logs, so it must be known whether they hold a
// secret, wherever it hides.
func TestRefusedWorkSaysWhetherItHoldsASecret(t *testing.T) {
	t.Parallel()
	commits := func(f *fixture, folder, message string) {
		f.git(folder, "add", "-A")
		f.git(folder, "commit", "-q", "-m", message)
	}
	for name, test := range map[string]struct {
		agent  func(f *fixture, folder string)
		secret bool
	}{
		"none":           {func(*fixture, string) {}, false},
		"in a file":      {func(f *fixture, folder string) { f.adds("a", ourSecret)(folder) }, true},
		"a token":        {func(f *fixture, folder string) { f.adds("a", "ghp_"+strings.Repeat("a1B2", 9))(folder) }, true},
		"in a message":   {func(f *fixture, folder string) { commits(f, folder, ourSecret) }, true},
		"in a file name": {func(f *fixture, folder string) { f.adds(ourSecret, "")(folder) }, true},
		"in a file that is gone": {func(f *fixture, folder string) {
			f.adds("a", ourSecret)(folder)
			commits(f, folder, "one")
			f.check(os.Remove(filepath.Join(folder, "a")))
		}, true},
		"in a file name that is gone": {func(f *fixture, folder string) {
			f.adds(ourSecret, "")(folder)
			commits(f, folder, "one")
			f.check(os.Remove(filepath.Join(folder, ourSecret)))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			r, err := f.Publish(t.Context(), f.session(func(folder string) {
				f.adds(".github/x", "refused\n")(folder)
				test.agent(f, folder)
			}), now)
			if err != nil || len(r.Verdict.Refusals) == 0 || r.Secret != test.secret {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
}

func TestABranchThatIsUnknownForAMomentIsAskedForAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.refuse("POST /pulls", http.StatusUnprocessableEntity, 2,
		`{"message":"Validation Failed","errors":[{"resource":"PullRequest","field":"head","code":"invalid"}]}`)
	if r := f.publish(f.session(f.adds("a", "1\n"))); r.State != PullOpened {
		t.Errorf("got %+v", r)
	}
}

func TestAPullRequestThatIsThereAlreadyIsTaken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.session(f.adds("a", "1\n"))
	title, head, base := "A cart", "symphony/GH-7", "main"
	f.github.Fail("POST /pulls", storetest.Fault{Before: func() {
		if _, err := f.GitHub.Pulls.Create(t.Context(), client.NewPullRequest{Title: &title, Head: &head, Base: &base}); err != nil {
			t.Error(err)
		}
	}})
	if r := f.publish(w); r.Record.Number != 1 || len(f.github.Pulls()) != 1 {
		t.Errorf("got %+v", r)
	}
}

func TestWhatGitHubRefusesIsSaidWithItsRemedy(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, test := range map[string]struct {
		status        int
		message, want string
		is            error
	}{
		"Actions may not": {403, `{"message":"GitHub Actions is not permitted to create or approve pull requests."}`, "Settings > Actions > General", ErrNotPermitted},
		"no permission":   {403, `{"message":"Resource not accessible by integration"}`, "permissions: {pull-requests: write}", nil},
		"no drafts":       {422, `{"message":"Draft pull requests are not supported in this repository."}`, "delivery.draft", nil},
		"a bad base":      {422, `{"message":"Validation Failed","errors":[{"resource":"PullRequest","field":"base","code":"invalid"}]}`, "base invalid", nil},
	} {
		f.refuse("POST /pulls", test.status, 1, test.message)
		r, err := f.Publish(t.Context(), f.session(f.adds(name, "1\n")), now)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "the branch symphony/GH-7 was pushed") || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
		if !r.Pushed || r.Record.Head.IsZero() {
			t.Errorf("%s: the record is %+v", name, r.Record)
		}
	}
}

func TestDraftsHaveTheirReasons(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*fixture, *Work)
		draft  bool
	}{
		"no reason":    {func(*fixture, *Work) {}, false},
		"the settings": {func(f *fixture, _ *Work) { f.Pull.Draft = true }, true},
		"failed tests": {func(_ *fixture, w *Work) {
			w.Unproven, w.Receipt.Checks = true, []receipt.Check{{Command: "make test", Failed: "exit status 2"}}
		}, true},
		"blocked hosts": {func(_ *fixture, w *Work) { w.Receipt.Blocked = "`pypi.org`" }, false},
		"protected path": {func(f *fixture, _ *Work) {
			f.Policy.Protected = []delivery.Rule{{Pattern: "a", Protection: delivery.Draft}}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			w := f.session(f.adds("a", "1\n"))
			test.change(f, &w)
			f.publish(w)
			if pull := f.github.Pulls()[0]; pull.Draft != test.draft || !strings.Contains(pull.Body, w.Receipt.Markdown()) {
				t.Errorf("got %+v", pull)
			}
		})
	}
}

func TestNoIdentifierEndsTheMarker(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := f.body(Work{Issue: "X --> @admin\n<b>", Incoming: &git.Incoming{}}, delivery.Verdict{}, git.ObjectID{}, digest("A title"))
	if strings.Count(body, "-->") != 1 || !isOurs(body) || !isOurs(strings.ReplaceAll(body, "\n", "\r\n")) || isOurs(body+"x") {
		t.Errorf("the body is %q", body)
	}
}

// The body is written anew with each delivery, and what the first one brought is still in the
// pull request.
func TestAPullRequestNamesWhatAReviewerHasToSeeInEachRound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const review = "Look at these files with care:\n\n- `go.mod`\n\n"
	const marks = "This page does not show all of these; look at them in an editor that shows every character:\n\n" +
		"- `cart.go`, line 2, has characters that turn the direction of writing\n- `gen.go` has a head that says it is generated, so GitHub folds it\n\n"
	r := f.publish(f.session(func(folder string) {
		f.adds("cart.go", "package cart\n// \u202e\n")(folder)
		f.adds("go.mod", "module cart\n")(folder)
		f.adds("gen.go", "// Code generated by nobody. DO NOT EDIT.\n")(folder)
	}))
	for _, round := range []string{"first", "second"} {
		if round == "second" {
			w := f.session(f.adds("other.go", "package cart\n"))
			w.Last = r.Record
			f.publish(w)
		}
		_, body, _ := strings.Cut(f.github.Pulls()[0].Body, "\n")
		if diff := cmp.Diff("Fixes #7\n\nAn agent wrote this.\n\n"+review+marks+"<!-- symphony: by the agent -->\n\nIt has wheels.\n", body); diff != "" {
			t.Errorf("the %s round: %s", round, diff)
		}
	}
}
