package publish

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// patches returns the files of the folder, by their names.
func (f *fixture) patches() string {
	f.t.Helper()
	entries, err := os.ReadDir(f.Folder)
	f.check(err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return strings.Join(names, " ")
}

func (f *fixture) inPatches() {
	f.GitHub, f.Folder = nil, filepath.Join(f.dir, "patches")
}

func TestWorkBecomesAPatch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.inPatches()
	w := f.session(func(folder string) {
		f.adds("cart.go", "package cart\n")(folder)
		f.adds("logo", "\x00\x01")(folder)
		f.check(os.Remove(filepath.Join(folder, "README.md")))
	})
	// git apply would obey this if it were in the file.
	w.Text = "diff --git a/.github/x b/.github/x\nnew file mode 100644\n--- /dev/null\n+++ b/.github/x\n@@ -0,0 +1 @@\n+evil\n"
	r := f.publish(w)
	if want := filepath.Join(f.Folder, "GH-7.patch"); r.Record.URL != want || !r.Pushed || !r.Record.At.Equal(now) || r.Record.Head.IsZero() || !r.Record.Branch.IsZero() {
		t.Errorf("got %+v", r)
	}
	f.git(".", "clone", "-q", f.origin, "person")
	f.git("person", "apply", "--index", r.Record.URL)
	if got := f.git("person", "diff", "--cached", "--name-status"); got != "D\tREADME.md\nA\tcart.go\nA\tlogo\n" {
		t.Errorf("the patch makes\n%s", got)
	}
	if got := f.remote(); got != "refs/heads/main\n" || len(f.saved) != 1 || f.saved[0] != r.Record {
		t.Errorf("the remote has %q; saved %v", got, f.saved)
	}
}

func TestAPatchReplacesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.inPatches()
	f.write("patches/GH-7.patch", "a person's\n")
	f.write("patches/GH-7+2.patch.tmp", "of a run that was killed")
	first := f.publish(f.session(f.adds("a", "1\n")))
	if want := filepath.Join(f.Folder, "GH-7+2.patch"); first.Record.URL != want || !first.Pushed {
		t.Errorf("got %+v", first)
	}
	w := f.session(f.adds("a", "1\n"))
	w.Last = first.Record
	if again := f.publish(w); again.Record != first.Record || again.Pushed {
		t.Errorf("the same work: %+v", again)
	}
	f.check(os.Symlink(filepath.Join(f.dir, "outside"), filepath.Join(f.Folder, "GH-7+3.patch")))
	if third := f.publish(f.session(f.adds("b", "2\n"))); third.Record.URL != filepath.Join(f.Folder, "GH-7+4.patch") {
		t.Errorf("other work: %+v", third)
	}
	if got := f.patches(); got != "GH-7+2.patch GH-7+3.patch GH-7+4.patch GH-7.patch" {
		t.Errorf("the folder has %s", got)
	}
	if text, err := os.ReadFile(filepath.Join(f.Folder, "GH-7.patch")); err != nil || string(text) != "a person's\n" {
		t.Errorf("the person's file has %q, %v", text, err)
	}
}

// A branch that the remote has is judged by what differs from it; a patch is not.
func TestAllThatAPatchHasIsJudged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.inPatches()
	f.git(".", "clone", "-q", f.origin, "person")
	f.write("person/.github/workflows/ci.yml", "theirs")
	f.git("person", "commit", "-q", "-a", "-m", "theirs")
	f.git("person", "push", "-q", "origin", "HEAD:refs/heads/symphony/GH-7")
	r, err := f.Publish(t.Context(), f.session(f.adds("a", "1\n")), now)
	if err != nil || len(r.Verdict.Refusals) != 1 || r.Verdict.Refusals[0].Path != ".github/workflows/ci.yml" || r.Pushed {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := os.Stat(f.Folder); err == nil {
		t.Errorf("the folder has %s", f.patches())
	}
}

func TestAPatchThatIsThereIsSettled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.inPatches()
	w := f.session(f.adds("a", "1\n"))
	done := f.publish(w)
	w.Incoming, w.Last = nil, done.Record
	if r, err := f.Settle(t.Context(), w, now); err != nil || r.Record != done.Record {
		t.Errorf("got %+v, %v", r, err)
	}
	f.check(os.Remove(done.Record.URL))
	if r, err := f.Settle(t.Context(), w, now); err != nil || !r.Record.IsZero() {
		t.Errorf("removed: %+v, %v", r, err)
	}
	w.Last = Record{}
	if r, err := f.Settle(t.Context(), w, now); err != nil || !r.Record.IsZero() {
		t.Errorf("never written: %+v, %v", r, err)
	}
}
