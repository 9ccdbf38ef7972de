package git

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNamesReturnsTheEntriesOfEachFolder(t *testing.T) {
	d := newDelivery(t)
	folder := d.workspace(t, "GH-1")
	write(t, filepath.Join(folder, "src/deep/a"), "one")
	write(t, filepath.Join(folder, "od\nd/x"), "one")
	git(t, folder, "add", "-A")
	git(t, folder, "commit", "-q", "-m", "work")
	in := d.receive(t, d.harvest(t, folder))
	got, err := in.Names(t.Context(), in.Tip, []string{".", "src", "src/deep", "od\nd", "src/main.go", "missing/x", "..", "/etc"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		".": {"README.md", "od\nd", "src"}, "src": {"deep", "main.go"}, "src/deep": {"a"}, "od\nd": {"x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
