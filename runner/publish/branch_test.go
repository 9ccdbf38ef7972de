package publish

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/workspace/git"
)

// inUserRepository makes the remote a repository in which a person works, on main.
func (f *fixture) inUserRepository() {
	f.t.Helper()
	f.GitHub = nil
	f.git(".", "clone", "-q", f.origin, "user")
	f.deliverTo("user")
}

// deliverTo makes a repository in a folder the remote.
func (f *fixture) deliverTo(folder string) {
	f.t.Helper()
	f.origin = filepath.Join(f.dir, folder)
	remote, err := git.ParseRemote(f.origin, "")
	f.check(err)
	f.store, err = f.host.Store(f.t.Context(), remote)
	f.check(err)
	f.t.Cleanup(func() { f.store.Close() })
}

// next returns the work of a session on an issue of which an earlier run left a record.
func (f *fixture) next(last Record, agent func(folder string)) Work {
	f.t.Helper()
	own := f.branch
	defer func() { f.branch = own }()
	fetched, err := f.store.Fetch(f.t.Context(), git.Source{Prefix: "symphony/"})
	f.check(err)
	f.branch, _ = Locate(own, last, fetched)
	w := f.session(agent)
	w.Last = last
	return w
}

// heads returns the branches of the remote besides main, each with the files it adds.
func (f *fixture) heads() string {
	f.t.Helper()
	var text strings.Builder
	for name := range strings.FieldsSeq(f.git(f.origin, "for-each-ref", "--format=%(refname:short)", "refs/heads")) {
		if name != "main" {
			text.WriteString(strings.Join(append([]string{name + ":"}, strings.Fields(f.git(f.origin, "diff", "--name-only", "main...refs/heads/"+name))...), " ") + "\n")
		}
	}
	return text.String()
}

func (f *fixture) assertHeads(want string) {
	f.t.Helper()
	if got := f.heads(); got != want {
		f.t.Errorf("the branches are\n%swant\n%s", got, want)
	}
}

func TestWithoutGitHubABranchIsPublished(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.inUserRepository()
	f.write("user/README.md", "being edited\n")
	r := f.publish(f.session(f.adds("a", "1\n")))
	if !r.Pushed || r.State != PullNone || f.took() != "" || r.Record.Branch != f.branch || r.Record.Head.String() != strings.TrimSpace(f.onBranch("rev-parse")) {
		t.Errorf("got %+v", r)
	}
	f.assertHeads("symphony/GH-7: a\n")
	if got := f.git("user", "status", "--porcelain"); got != " M README.md\n" {
		t.Errorf("the work tree has %q", got)
	}
	r = f.publish(f.next(r.Record, f.adds("b", "2\n")))
	f.assertHeads("symphony/GH-7: a b\n")
	if got := f.onBranch("rev-list", "--count"); got != "3\n" || !r.Record.Pushing.IsZero() {
		t.Errorf("the branch has %s commits; %+v", got, r)
	}
}

func TestABranchLeavesAPatchBesideIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.inUserRepository()
	f.Copies = filepath.Join(f.dir, "patches")
	f.publish(f.session(f.adds("a", "1\n")))
	f.assertHeads("symphony/GH-7: a\n")
	f.git("user", "apply", "--index", filepath.Join(f.Copies, "GH-7.patch"))
	if tree := f.git("user", "write-tree"); tree != f.git("user", "rev-parse", "symphony/GH-7^{tree}") {
		t.Errorf("the patch is not the branch: %s", f.git("user", "diff", "--cached", "symphony/GH-7"))
	}
}

func TestABranchIsPublishedEvenIfItsPatchIsNot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.inUserRepository()
	f.write("patches", "a file\n")
	f.Copies = filepath.Join(f.dir, "patches")
	r := f.publish(f.session(f.adds("a", "1\n")))
	f.assertHeads("symphony/GH-7: a\n")
	if !r.Pushed || len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], "the branch symphony/GH-7 is published, and no patch of it was written: ") {
		t.Errorf("got %+v", r)
	}
}

func TestABranchThatAPersonUsesIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		person func(f *fixture) // between the sessions
		want   string
	}{
		"checked out": {
			func(f *fixture) { f.git("user", "switch", "-q", "symphony/GH-7") },
			"symphony/GH-7: a\nsymphony/GH-7+2: a b\n",
		},
		"checked out elsewhere": {
			func(f *fixture) { f.git("user", "worktree", "add", "-q", "../elsewhere", "symphony/GH-7") },
			"symphony/GH-7: a\nsymphony/GH-7+2: a b\n",
		},
		"and the next name is used as well": {
			func(f *fixture) {
				f.git("user", "branch", "symphony/GH-7+2", "main")
				f.git("user", "switch", "-q", "symphony/GH-7")
			},
			"symphony/GH-7: a\nsymphony/GH-7+2:\nsymphony/GH-7+3: a b\n",
		},
		"deleted": {
			func(f *fixture) { f.git("user", "branch", "-q", "-D", "symphony/GH-7") },
			"symphony/GH-7: b\n",
		},
		"has a person's commits": {
			func(f *fixture) {
				f.git("user", "switch", "-q", "symphony/GH-7")
				f.write("user/mine", "")
				f.git("user", "add", "mine")
				f.git("user", "commit", "-q", "-m", "mine")
				f.git("user", "switch", "-q", "main")
			},
			"symphony/GH-7: a b mine\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.inUserRepository()
			f.git("user", "config", "advice.detachedHead", "false")
			first := f.publish(f.session(f.adds("a", "1\n")))
			test.person(f)
			f.publish(f.next(first.Record, f.adds("b", "2\n")))
			f.assertHeads(test.want)
		})
	}
}

func TestABranchThatMovesDuringASessionIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, move := range map[string][]string{
		"to a person's commit": {"update-ref", "refs/heads/symphony/GH-7", "refs/heads/mine"},
		"back":                 {"update-ref", "refs/heads/symphony/GH-7", "refs/heads/main"},
		"away":                 {"update-ref", "-d", "refs/heads/symphony/GH-7"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.inUserRepository()
			f.git("user", "switch", "-q", "-c", "mine")
			f.git("user", "commit", "-q", "--allow-empty", "-m", "mine")
			f.git("user", "switch", "-q", "main")
			first := f.publish(f.session(f.adds("a", "1\n")))
			w := f.next(first.Record, f.adds("b", "2\n"))
			f.git("user", move...)
			before := f.heads()
			r := f.publish(w)
			if got := strings.TrimSuffix(f.heads(), "symphony/GH-7+2: a b\n"); got != before {
				t.Errorf("before\n%safter\n%s", before, f.heads())
			}
			// The next session continues there.
			f.publish(f.next(r.Record, f.adds("c", "3\n")))
			if got := strings.TrimSuffix(f.heads(), "symphony/GH-7+2: a b c\n"); got != before {
				t.Errorf("before\n%safter the next session\n%s", before, f.heads())
			}
		})
	}
}

// The user's own branch of that name is where the session began, and gets the work.
func TestAPersonsOwnBranchIsContinued(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.inUserRepository()
	f.git("user", "switch", "-q", "-c", "symphony/GH-7")
	f.write("user/mine", "")
	f.git("user", "add", "mine")
	f.git("user", "commit", "-q", "-m", "mine")
	f.git("user", "switch", "-q", "main")
	f.publish(f.session(f.adds("a", "1\n")))
	f.assertHeads("symphony/GH-7: a mine\n")
}

func TestAShallowRepositoryGetsABranch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.GitHub = nil
	f.git(".", "clone", "-q", f.origin, "deep")
	for _, name := range []string{"one", "two", "three"} {
		f.write("deep/"+name, "")
		f.git("deep", "add", "-A")
		f.git("deep", "commit", "-q", "-m", name)
	}
	f.git(".", "clone", "-q", "--depth", "2", "file://"+f.dir+"/deep", "user")
	f.deliverTo("user")
	first := f.publish(f.session(f.adds("a", "1\n")))
	f.assertHeads("symphony/GH-7: a\n")
	f.publish(f.next(first.Record, f.adds("b", "2\n")))
	f.assertHeads("symphony/GH-7: a b\n")
}

func TestADeliveryFailsWhenAllItsBranchNamesAreTaken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.inUserRepository()
	work := f.session(f.adds("a", "1\n"))
	f.git("user", "branch", "symphony", "main") // since the fetch, which would have refused it
	_, err := f.Publish(t.Context(), work, now)
	if !errors.Is(err, git.ErrRejected) || !strings.Contains(err.Error(), "symphony/GH-7 in") || !strings.Contains(err.Error(), "9 names after it") {
		t.Errorf("got %v", err)
	}
	f.assertHeads("symphony:\n")
}

// killAt returns a work whose nth save is never answered, and the records that were
// saved before and at it.
func (f *fixture) killAt(w Work, n int) (context.Context, Work) {
	ctx, cancel := context.WithCancel(f.t.Context())
	f.t.Cleanup(cancel)
	f.saved = nil
	save := w.Save
	w.Save = func(ctx context.Context, r Record) error {
		if len(f.saved) == n {
			cancel()
			return context.Cause(ctx)
		}
		return save(ctx, r)
	}
	return ctx, w
}

// Wherever a run is killed around the delivery to a branch of a person, the next one ends
// with all the work on one branch of ours.
func TestARunThatIsKilledInALocalDeliveryIsContinued(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kill int // at this save
		want string
	}{
		"before anything":                 {0, "symphony/GH-7: a\nsymphony/GH-7+2: a c\n"},
		"before the second name":          {1, "symphony/GH-7: a\nsymphony/GH-7+2: a c\n"},
		"after the move, before the save": {2, "symphony/GH-7: a\nsymphony/GH-7+2: a b c\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.inUserRepository()
			first := f.publish(f.session(f.adds("a", "1\n")))
			f.git("user", "worktree", "add", "-q", "../elsewhere", "symphony/GH-7")
			ctx, w := f.killAt(f.next(first.Record, f.adds("b", "2\n")), test.kill)
			if _, err := f.Publish(ctx, w, now); !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
			last := first.Record
			if len(f.saved) > 0 {
				last = f.saved[len(f.saved)-1]
			}
			r := f.publish(f.next(last, f.adds("c", "3\n")))
			f.assertHeads(test.want)
			if r.Record.Branch.String() != "symphony/GH-7+2" || !r.Record.Pushing.IsZero() {
				t.Errorf("the record is %+v", r.Record)
			}
		})
	}
}

func TestTheBranchOfAnIssueIsLocated(t *testing.T) {
	t.Parallel()
	parse := func(name string) git.Branch {
		b, err := git.ParseBranch(name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	own, second, other := parse("symphony/GH-7"), parse("symphony/GH-7+2"), parse("symphony/GH-70")
	one, two := git.ObjectID{1}, git.ObjectID{2}
	if branch, there := Locate(second, Record{Branch: parse("symphony/GH-7+3"), Head: two}, git.Fetched{Branches: map[git.Branch]git.ObjectID{
		own: one, second: one, parse("symphony/GH-7+3"): two,
	}}); branch.String() != "symphony/GH-7+3" || there != two {
		t.Errorf("located again: %v at %v", branch, there)
	}
	for name, test := range map[string]struct {
		last    Record
		fetched map[git.Branch]git.ObjectID
		branch  git.Branch
		there   git.ObjectID
	}{
		"nothing yet":                        {Record{}, nil, own, git.ObjectID{}},
		"its own":                            {Record{Branch: own, Head: one}, map[git.Branch]git.ObjectID{own: one}, own, one},
		"the one beside it":                  {Record{Branch: second, Head: two}, map[git.Branch]git.ObjectID{own: one, second: two}, second, two},
		"with a person's commits":            {Record{Branch: second, Head: one}, map[git.Branch]git.ObjectID{own: one, second: two}, second, two},
		"of a killed run":                    {Record{Branch: second, Pushing: two}, map[git.Branch]git.ObjectID{own: one, second: two}, second, two},
		"a killed run and a person's branch": {Record{Branch: second, Pushing: one}, map[git.Branch]git.ObjectID{own: one, second: two}, own, one},
		"deleted":                            {Record{Branch: second, Head: two}, map[git.Branch]git.ObjectID{own: one}, own, one},
		"of other settings":                  {Record{Branch: other, Head: two}, map[git.Branch]git.ObjectID{own: one, other: two}, own, one},
		"a person made it already":           {Record{}, map[git.Branch]git.ObjectID{own: one}, own, one},
	} {
		if branch, there := Locate(own, test.last, git.Fetched{Branches: test.fetched}); branch != test.branch || there != test.there {
			t.Errorf("%s: %v at %v", name, branch, there)
		}
	}
}
