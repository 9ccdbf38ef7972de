package workspace

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

func TestSavedWorkStaysUntilItIsDroppedOrTheWorkspaceIsRemoved(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	ws := prepare(t, r)
	failed := errors.New("failed")
	save := func(text string, fails error) int {
		t.Helper()
		number, err := r.SaveWork(ws, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return errors.Join(err, fails)
		})
		if !errors.Is(err, fails) {
			t.Errorf("saved %q: %v", text, err)
		}
		return number
	}
	assertSaved := func(want ...int) {
		t.Helper()
		if got, err := r.SavedWork(ws); err != nil || !slices.Equal(got, want) {
			t.Errorf("saved %v, %v, want %v", got, err, want)
		}
	}
	assertSaved()
	for i, text := range []string{"one", "two", "three"} {
		save("half", failed)
		if got := save(text, nil); got != i+1 {
			t.Errorf("the number of %q is %d", text, got)
		}
	}
	assertSaved(1, 2, 3)
	f, err := r.OpenWork(ws, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if text, err := io.ReadAll(f); err != nil || string(text) != "two" {
		t.Errorf("read %q, %v", text, err)
	}
	if err := r.DropWork(ws, 1, 3, 7); err != nil {
		t.Error(err)
	}
	assertSaved(2)
	if got := save("more", nil); got != 3 {
		t.Errorf("the number of later work is %d", got)
	}
	folder := filepath.Join(r.Path(), metadataDir, workFolder(ws.Key))
	write(t, filepath.Join(folder, "4"), "by somebody")
	write(t, filepath.Join(folder, "x"), "by somebody")
	if err := errors.Join(os.Symlink("/etc/passwd", filepath.Join(folder, "000005")), syscall.Mkfifo(filepath.Join(folder, "000006"), 0o600)); err != nil {
		t.Fatal(err)
	}
	assertSaved(2, 3, 5, 6)
	for _, number := range []int{4, 5, 6} {
		if _, err := r.OpenWork(ws, number); err == nil {
			t.Errorf("%d is open", number)
		}
	}
	if _, err := r.Remove(t.Context(), issue); err != nil {
		t.Fatal(err)
	}
	prepare(t, r)
	assertSaved()
	if exists(folder) {
		t.Error("the folder is still there")
	}
}
