package file

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

const plain = "---\ntitle: T\nstate: Todo\n---\n"

// newFolder returns an empty folder.
func newFolder(t testing.TB) *folder {
	t.Helper()
	return &folder{path: t.TempDir()}
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
		trackertest.CheckError(t, err, tracker.ErrResponse, tracker.Malformed{ID: tracker.ID(id)}.Name()+": it")
	}
	var dropped []string
	ctx := tracker.WithDropped(t.Context(), func(m tracker.Malformed) { dropped = append(dropped, m.String()) })
	_, err := f.IssuesByState(ctx, []string{"Todo"})
	must(t, err)
	if len(dropped) != 5 || !slices.Contains(dropped, `"new\nline": its name is not plain text: rename it`) {
		t.Errorf("dropped %q", dropped)
	}
}

func TestAnIDIsNeverAPath(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	must(t, os.Mkdir(f.file("sub"), 0o755))
	f.put(t, "sub/A.md", plain)
	f.put(t, ".hidden.md", plain)
	inner := &folder{path: f.file("sub")}
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

func TestAReadByIDReadsItsFileAndItsBlockers(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(t, "A.md", "---\ntitle: T\nstate: Todo\nblocked_by: [B, C, D, A]\n---\n")
	f.put(t, "B.md", "---\ntitle: T\nstate: In Progress\nblocked_by: [E]\n---\n")
	f.put(t, "C.md", "malformed")
	f.put(t, "E.md", plain)
	s, err := f.openSnapshot(t.Context())
	must(t, err)
	defer s.close()
	r, err := s.record(t.Context(), "A")
	must(t, err)
	issue, err := s.issue(t.Context(), r)
	must(t, err)
	want := []tracker.Blocker{
		{ID: "B", Identifier: "B", State: "In Progress"},
		{ID: "C", Identifier: "C"},
		{ID: "D", Identifier: "D"},
		{ID: "A", Identifier: "A", State: "Todo"},
	}
	if diff := cmp.Diff(want, issue.BlockedBy); diff != "" {
		t.Errorf("blockers (-want +got):\n%s", diff)
	}
	if read := slices.Sorted(maps.Keys(s.records)); !slices.Equal(read, []string{"A", "B", "C", "D"}) {
		t.Errorf("%q were read", read)
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

func TestAFolderThatIsReplacedIsReadAgain(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(t, "A.md", plain)
	f.list(t)
	must(t, os.RemoveAll(f.path))
	_, err := f.IssuesByState(t.Context(), []string{"Todo"})
	trackertest.CheckError(t, err, tracker.ErrRequest, f.path, "check that it exists")
	must(t, os.Mkdir(f.path, 0o755))
	f.put(t, "B.md", plain)
	if diff := cmp.Diff([]string{"B"}, identifiers(f.list(t))); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
}
