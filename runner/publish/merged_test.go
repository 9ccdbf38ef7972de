package publish

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/workspace/git"
)

// merge merges the branch of the issue as GitHub does, in one of its three ways, with a
// commit of somebody else after it. The pull request is closed.
func (f *fixture) merge(how string) {
	f.t.Helper()
	f.git(".", "clone", "-q", f.origin, "merging")
	branch := "origin/symphony/GH-7"
	switch how {
	case "merge":
		f.git("merging", "merge", "-q", "--no-ff", "-m", "Merge", branch)
	case "squash":
		f.git("merging", "merge", "-q", "--squash", branch)
		f.git("merging", "commit", "-q", "-m", "Squash")
	case "rebase":
		f.git("merging", "commit", "-q", "--allow-empty", "-m", "Before")
		f.git("merging", "cherry-pick", "main.."+branch)
	default:
		f.t.Fatalf("merged by %q", how)
	}
	f.github.MarkMerged(len(f.github.Pulls()), strings.TrimSpace(f.git("merging", "rev-parse", "HEAD")))
	f.write("merging/theirs", "of somebody else\n")
	f.git("merging", "add", "-A")
	f.git("merging", "commit", "-q", "-m", "theirs")
	f.git("merging", "push", "-q", "origin", "HEAD:main")
	f.check(os.RemoveAll(filepath.Join(f.dir, "merging")))
}

// assertMerges checks that the newest pull request is open, shows these files only, and
// leaves these files in the base when it is merged.
func (f *fixture) assertMerges(number int, shown, merged string) {
	f.t.Helper()
	if pulls := f.github.Pulls(); len(pulls) != number || pulls[number-1].State != "open" {
		f.t.Fatalf("the pull requests are %+v", pulls)
	}
	if got := strings.Join(strings.Fields(f.git(f.origin, "diff", "--name-only", "main...symphony/GH-7")), " "); got != shown {
		f.t.Errorf("the pull request shows %s, want %s", got, shown)
	}
	f.git(".", "clone", "-q", f.origin, "check")
	f.git("check", "merge", "-q", "-m", "Merge", "origin/symphony/GH-7")
	if got := strings.Join(strings.Fields(f.git("check", "ls-files", "?", "theirs")), " "); got != merged {
		f.t.Errorf("the merge has %s, want %s", got, merged)
	}
	f.check(os.RemoveAll(filepath.Join(f.dir, "check")))
}

func TestAfterAMergeANewPullRequestShowsWhatIsNew(t *testing.T) {
	t.Parallel()
	for how, branches := range map[string][]string{"merge": {"stays"}, "squash": {"is deleted", "is deleted late", "gets a person's commit"}, "rebase": {"stays", "gets a person's commit"}} {
		for _, branch := range branches {
			t.Run(how+" and the branch "+branch, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				first := f.publish(f.session(f.adds("a", "1\n")))
				old := f.onBranch("rev-parse")
				f.merge(how)
				shown, merged := "b", "a b theirs"
				switch branch {
				case "is deleted":
					f.git(f.origin, "branch", "-q", "-D", "symphony/GH-7")
				case "gets a person's commit":
					f.git(".", "clone", "-q", "-b", "symphony/GH-7", f.origin, "person")
					f.write("person/p", "")
					f.git("person", "add", "-A")
					f.git("person", "commit", "-q", "-m", "late")
					f.git("person", "push", "-q", "origin", "HEAD")
					old = f.onBranch("rev-parse")
					shown, merged = "b p", "a b p theirs"
				}
				w := f.next(first.Record, f.adds("b", "2\n"))
				if branch == "is deleted late" { // the session began with it
					f.git(f.origin, "branch", "-q", "-D", "symphony/GH-7")
					if _, err := f.Publish(t.Context(), w, now); !errors.Is(err, git.ErrMoved) {
						t.Errorf("a push to a branch that is gone: %v", err)
					}
					w.RemoteHead = git.ObjectID{} // as the next session finds it
				}
				second := f.publish(w)
				if second.State != PullOpened || second.Record.Number != 2 || !second.Pushed {
					t.Errorf("got %+v", second)
				}
				f.assertMerges(2, shown, merged)
				if !strings.HasPrefix(branch, "is deleted") {
					f.git(f.origin, "merge-base", "--is-ancestor", strings.TrimSpace(old), "symphony/GH-7")
				}
				third := f.publish(f.next(second.Record, f.adds("c", "3\n")))
				if third.State != PullUpdated || third.Record.Number != 2 {
					t.Errorf("the session after it: %+v", third)
				}
				f.assertMerges(2, strings.Replace(shown, "b", "b c", 1), strings.Replace(merged, "b", "b c", 1))
			})
		}
	}
}

func TestAfterAMergeNothingNewOpensNothing(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"merge", "squash", "rebase"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			first := f.publish(f.session(f.adds("a", "1\n")))
			f.merge(how)
			before := f.onBranch("rev-parse")
			w := f.next(first.Record, func(folder string) {
				f.git(folder, "commit", "-q", "--allow-empty", "-m", "nothing")
			})
			again := f.publish(w)
			settled, err := f.Settle(t.Context(), f.idle(first.Record), now)
			f.check(err)
			for _, r := range []Result{again, settled} {
				if r.State != PullUnchanged || r.Record.Number != 1 || r.Record.Head != first.Record.Head || r.Pushed {
					t.Errorf("got %+v", r)
				}
			}
			if len(f.github.Pulls()) != 1 || f.onBranch("rev-parse") != before {
				t.Errorf("%d pull requests; the branch is at %s", len(f.github.Pulls()), f.onBranch("rev-parse"))
			}
		})
	}
}

// Where the new work cannot be told from the merged, nothing is taken away from the base.
func TestAfterAMergeAllIsShownIfItMustBe(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set    func(f *fixture)
		agent  func(f *fixture) func(string)
		late   bool // whether the merge comes after the fetch
		shown  string
		merged string
	}{
		"the base has changed what was merged": {
			set: func(f *fixture) {
				f.git(".", "clone", "-q", f.origin, "person")
				f.write("person/a", "0\n1\n")
				f.git("person", "commit", "-q", "-a", "-m", "other")
				f.git("person", "push", "-q", "origin", "HEAD")
			},
			agent:  func(f *fixture) func(string) { return f.adds("b", "2\n") },
			shown:  "b",
			merged: "a b theirs",
		},
		"the merge is not fetched": {
			agent: func(f *fixture) func(string) { return f.adds("b", "2\n") }, late: true,
			shown: "a b", merged: "a b theirs",
		},
		"the history is kept": {
			set:   func(f *fixture) { f.KeepHistory = true },
			agent: func(f *fixture) func(string) { return f.adds("b", "2\n") },
			shown: "a b", merged: "a b theirs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			first := f.publish(f.session(f.adds("a", "1\n")))
			if !test.late {
				f.merge("squash")
			}
			if test.set != nil {
				test.set(f)
			}
			w := f.next(first.Record, test.agent(f))
			if test.late {
				f.merge("squash")
			}
			f.publish(w)
			f.assertMerges(2, test.shown, test.merged)
		})
	}
}

func TestWorkThatConflictsWithTheBaseAfterAMergeIsShownWhole(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.publish(f.session(f.adds("a", "1\n")))
	f.merge("squash")
	f.git(".", "clone", "-q", f.origin, "person")
	f.write("person/a", "0\n1\n")
	f.git("person", "commit", "-q", "-a", "-m", "other")
	f.git("person", "push", "-q", "origin", "HEAD")
	f.publish(f.next(first.Record, f.adds("a", "1\n2\n")))
	if got := f.git(f.origin, "show", "symphony/GH-7:a"); got != "1\n2\n" || len(f.github.Pulls()) != 2 {
		t.Errorf("the branch has %q; %d pull requests", got, len(f.github.Pulls()))
	}
}

// What the work is compared with changes, so it is judged again.
func TestWorkOnAMergedBranchIsJudgedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.publish(f.session(f.adds("a", "1\n")))
	f.merge("squash")
	r, err := f.Publish(t.Context(), f.next(first.Record, f.adds("THEIRS", "2\n")), now)
	if err != nil || len(r.Verdict.Refusals) != 1 || !strings.Contains(r.Verdict.Refusals[0].Error(), "on some file systems") || r.Pushed {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestAPullRequestThatAPersonClosedStaysClosed(t *testing.T) {
	t.Parallel()
	for _, branch := range []string{"stays", "is deleted"} {
		t.Run("the branch "+branch, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			first := f.publish(f.session(f.adds("a", "1\n")))
			f.github.ClosePull(1)
			if branch == "is deleted" {
				f.git(f.origin, "branch", "-q", "-D", "symphony/GH-7")
			}
			before, saved := f.remote()+f.git(f.origin, "rev-parse", "--all"), len(f.saved)
			_, err := f.Publish(t.Context(), f.next(first.Record, f.adds("b", "2\n")), now)
			if !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), f.github.CloneURL()+"/pull/1") {
				t.Errorf("got %v", err)
			}
			if got := f.remote() + f.git(f.origin, "rev-parse", "--all"); got != before || len(f.github.Pulls()) != 1 || len(f.saved) != saved {
				t.Errorf("the remote has\n%swant\n%s", got, before)
			}
			if _, err := f.Settle(t.Context(), f.idle(first.Record), now); branch == "stays" && !errors.Is(err, ErrClosed) {
				t.Errorf("settled: %v", err)
			}
		})
	}
}

// A pull request can be merged or closed between the look at it and the push.
func TestAPullRequestThatEndsDuringADelivery(t *testing.T) {
	t.Parallel()
	for _, merged := range []bool{true, false} {
		f := newFixture(t)
		first := f.publish(f.session(f.adds("a", "1\n")))
		w := f.next(first.Record, f.adds("b", "2\n"))
		end := f.github.ClosePull
		if merged {
			end = f.github.Merge
		}
		f.github.KeepBranches()
		f.github.Fail("PATCH /pulls/{n}", storetest.Fault{Before: func() { end(1) }})
		r, err := f.Publish(t.Context(), w, now)
		if merged && (err != nil || r.State != PullOpened || r.Record.Number != 2) {
			t.Errorf("merged: %+v, %v", r, err)
		}
		if !merged && (!errors.Is(err, ErrClosed) || len(f.github.Pulls()) != 1) {
			t.Errorf("closed: %+v, %v", r, err)
		}
	}
}
