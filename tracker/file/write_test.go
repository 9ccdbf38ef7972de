package file

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// add returns an edit that appends.
func add(text string) func([]byte, time.Time) ([]byte, error) {
	return func(content []byte, _ time.Time) ([]byte, error) { return append(bytes.Clone(content), text...), nil }
}

// names returns the names of all entries in the folder.
func (f *folder) names(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(f.path)
	must(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestWhatSomebodySavesDuringAWriteIsKept(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(t, "A.md", "old, ")
	saved := false
	must(t, f.rewrite(t.Context(), "A", func(content []byte, _ time.Time) ([]byte, error) {
		if !saved {
			saved = true
			f.put(t, "A.md", "theirs, ")
		}
		return add("ours")(content, time.Time{})
	}))
	if got := f.content(t, "A.md"); got != "theirs, ours" {
		t.Errorf("got %q", got)
	}
}

func TestAWriteGivesUpOnAFileThatKeepsChanging(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(t, "A.md", "a")
	err := f.rewrite(t.Context(), "A", func(content []byte, _ time.Time) ([]byte, error) {
		f.put(t, "A.md", string(content)+"a")
		return add("ours")(content, time.Time{})
	})
	if !errors.Is(err, errChanged) {
		t.Errorf("got %v, want %v", err, errChanged)
	}
	if got := f.content(t, "A.md"); got != "aaaaaa" {
		t.Errorf("got %q", got)
	}
	if diff := cmp.Diff([]string{"A.md"}, f.names(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestAFileThatIsDeletedDuringAWriteStaysDeleted(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(t, "A.md", "a")
	err := f.rewrite(t.Context(), "A", func(content []byte, _ time.Time) ([]byte, error) {
		must(t, os.Remove(f.file("A.md")))
		return add("ours")(content, time.Time{})
	})
	if !errors.Is(err, errGone) || len(f.names(t)) != 0 {
		t.Errorf("got %v and %q", err, f.names(t))
	}
}

func TestAWriteKeepsThePermissions(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(t, "A.md", "a")
	const mode = 0o666 // more than a umask leaves
	must(t, os.Chmod(f.file("A.md"), mode))
	must(t, f.rewrite(t.Context(), "A", add("b")))
	info, err := os.Stat(f.file("A.md"))
	must(t, err)
	if info.Mode() != mode {
		t.Errorf("mode %v, want %v", info.Mode(), os.FileMode(mode))
	}
}

func TestACancelledWriteWritesNothing(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(t, "A.md", "a")
	cause := errors.New("stalled")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := f.rewrite(ctx, "A", add("b")); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
	if got := f.content(t, "A.md"); got != "a" {
		t.Errorf("got %q", got)
	}
}

func TestWhatACrashLeftBehindIsRemovedLater(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(t, "A.md", plain)
	f.put(t, ".symphony-YOUNG.tmp", plain[:7]) // another process may be about to rename it
	f.put(t, ".symphony-OLD.tmp", plain[:7])
	f.put(t, ".symphony-theirs", "")
	young, old := time.Now(), time.Now().Add(-2*abandonedAge)
	must(t, os.Chtimes(f.file(".symphony-YOUNG.tmp"), young, young))
	must(t, os.Chtimes(f.file(".symphony-OLD.tmp"), old, old))

	if got := identifiers(f.list(t)); !slices.Equal(got, []string{"A"}) {
		t.Errorf("listed %q", got)
	}
	must(t, f.rewrite(t.Context(), "A", add("b")))
	if diff := cmp.Diff([]string{".symphony-YOUNG.tmp", ".symphony-theirs", "A.md"}, f.names(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
