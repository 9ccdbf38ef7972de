package file

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/tracker"
)

const plain = "---\ntitle: T\nstate: Todo\n---\n"

// newFolder returns an empty folder.
func newFolder(t testing.TB) *folder {
	t.Helper()
	return &folder{path: t.TempDir(), known: make(map[string]*record)}
}

func (f *folder) file(name string) string { return filepath.Join(f.path, name) }

// put writes a file that was last changed some time ago.
func (f *folder) put(t testing.TB, name, content string) {
	t.Helper()
	must(t, os.WriteFile(f.file(name), []byte(content), 0o644))
	old := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(f.file(name), old, old))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (f *folder) list(t testing.TB) []tracker.Issue {
	t.Helper()
	issues, err := f.IssuesByState(t.Context(), []string{"Todo"})
	must(t, err)
	return issues
}

func identifiers(issues []tracker.Issue) []string {
	var list []string
	for _, issue := range issues {
		list = append(list, issue.Identifier)
	}
	return list
}

func TestOnlyPlainMarkdownFilesAreIssues(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	outside := filepath.Join(t.TempDir(), "outside.md")
	must(t, os.WriteFile(outside, []byte(plain), 0o644))
	for _, name := range []string{
		"B.md", "A.md", "A-1.md", "Ä ö: %s {{x}}.md", // issues
		".hidden.md", ".#A.md", "A.md~", "#A.md#", ".A.md.swp", "A.markdown", ".md", ".symphony-X.tmp", // not
		"new\nline.md", // malformed
	} {
		f.put(t, name, plain)
	}
	f.put(t, "README.md", "# How we work\n")
	must(t, os.Mkdir(f.file("dir.md"), 0o755))
	must(t, syscall.Mkfifo(f.file("pipe.md"), 0o644))
	must(t, os.Symlink(outside, f.file("outside.md")))
	must(t, os.Symlink("A.md", f.file("inside.md")))

	if diff := cmp.Diff([]string{"A", "A-1", "B", "Ä ö: %s {{x}}"}, identifiers(f.list(t))); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	for _, id := range []string{"new\nline", "dir", "pipe", "outside", "inside"} {
		_, err := f.IssuesByID(t.Context(), []tracker.ID{tracker.ID(id)})
		mentions(t, err, tracker.ErrResponse, fmt.Sprintf("%q", id+".md"))
	}
	var dropped []string
	ctx := tracker.WithDropped(t.Context(), func(m tracker.Malformed) { dropped = append(dropped, m.String()) })
	_, err := f.IssuesByState(ctx, []string{"Todo"})
	must(t, err)
	if len(dropped) != 5 || !slices.Contains(dropped, `"new\nline": the file "new\nline.md": its name is not plain text: rename it`) {
		t.Errorf("dropped %q", dropped)
	}
}

func TestAnIDIsNeverAPath(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	must(t, os.Mkdir(f.file("sub"), 0o755))
	f.put(t, "sub/A.md", plain)
	f.put(t, ".hidden.md", plain)
	inner := &folder{path: f.file("sub"), known: make(map[string]*record)}
	f.put(t, "B.md", "---\ntitle: T\nstate: Todo\nblocked_by: [sub/A, ../x]\n---\n")
	f.put(t, "README.md", "no issue")

	ids := []tracker.ID{"", ".", "..", "../B", "sub/A", ".hidden", "README", "/etc/hosts", "a\x00b", tracker.ID(strings.Repeat("x", 4096))}
	for _, folder := range []*folder{f, inner} {
		got, err := folder.IssuesByID(t.Context(), ids)
		if err != nil || len(got) != 0 {
			t.Errorf("got %v, %v, want nothing", got, err)
		}
	}
	want := []tracker.Blocker{{ID: "sub/A", Identifier: "sub/A"}, {ID: "../x", Identifier: "../x"}}
	if diff := cmp.Diff(want, f.list(t)[0].BlockedBy); diff != "" {
		t.Errorf("blockers (-want +got):\n%s", diff)
	}
}

func TestAnUnchangedFileIsParsedOnce(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(t, "A.md", plain)
	f.put(t, "B.md", plain)
	f.list(t)
	a, b := f.known["A"], f.known["B"]

	f.put(t, "B.md", strings.Replace(plain, "T", "U", 1)) // the same size and nearly the same time
	f.list(t)
	if f.known["A"] != a {
		t.Error("A was parsed again")
	}
	if f.known["B"] == b || f.known["B"].issue.Title != "U" {
		t.Error("B was not parsed again")
	}
	must(t, os.Remove(f.file("B.md")))
	f.list(t)
	if got := len(f.known); got != 1 {
		t.Errorf("%d files are remembered, 1 is there", got)
	}
}

func TestAnEditThatLeavesNoSignIsSeen(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	instant := time.Now()
	for _, title := range []string{"T", "U"} {
		must(t, os.WriteFile(f.file("A.md"), []byte(strings.Replace(plain, "T", title, 1)), 0o644))
		must(t, os.Chtimes(f.file("A.md"), instant, instant))
		if got := f.list(t)[0].Title; got != title {
			t.Errorf("title %q, want %q", got, title)
		}
	}
}

func TestAReadByIDTouchesItsFileAndItsBlockers(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(t, "A.md", "---\ntitle: T\nstate: Todo\nblocked_by: [B, C, D, A]\n---\n")
	f.put(t, "B.md", "---\ntitle: T\nstate: In Progress\nblocked_by: [E]\n---\n")
	f.put(t, "C.md", "malformed")
	f.put(t, "E.md", plain)
	issues, err := f.IssuesByID(t.Context(), []tracker.ID{"A"})
	must(t, err)
	want := []tracker.Blocker{
		{ID: "B", Identifier: "B", State: "In Progress"},
		{ID: "C", Identifier: "C"},
		{ID: "D", Identifier: "D"},
		{ID: "A", Identifier: "A", State: "Todo"},
	}
	if diff := cmp.Diff(want, issues[0].BlockedBy); diff != "" {
		t.Errorf("blockers (-want +got):\n%s", diff)
	}
	if f.known["E"] != nil || len(f.known) != 3 {
		t.Errorf("%d files were read, want A, B and C", len(f.known))
	}
}

// vanishing removes a file when the read that it belongs to is under way.
type vanishing struct {
	context.Context
	looks int
	gone  func()
}

func (v *vanishing) Err() error {
	if v.looks--; v.looks == 0 {
		v.gone()
	}
	return v.Context.Err()
}

func TestAFileThatVanishesDuringAListIsNotThere(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	for _, name := range []string{"A.md", "B.md", "C.md"} {
		f.put(t, name, plain)
	}
	// The first look is at the folder, the second at A.
	ctx := &vanishing{Context: t.Context(), looks: 2, gone: func() { must(t, os.Remove(f.file("B.md"))) }}
	issues, err := f.IssuesByState(ctx, []string{"Todo"})
	must(t, err)
	if got := identifiers(issues); !slices.Equal(got, []string{"A", "C"}) {
		t.Errorf("listed %q", got)
	}
}

func TestAFolderThatIsReplacedIsReadAnew(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(t, "A.md", plain)
	f.list(t)
	must(t, os.RemoveAll(f.path))
	_, err := f.IssuesByState(t.Context(), []string{"Todo"})
	mentions(t, err, tracker.ErrRequest, f.path, "see that it is there")
	must(t, os.Mkdir(f.path, 0o755))
	f.put(t, "B.md", plain)
	if diff := cmp.Diff([]string{"B"}, identifiers(f.list(t))); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
}
