package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAScratchFolderIsEmptyAndNoWorkspace(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{AfterCreate: "echo $PWD $SYMPHONY_ISSUE_IDENTIFIER $SYMPHONY_WORKSPACE > made"})
	ws := prepare(t, r)
	for range 2 { // the second finds what a killed run has left
		scratch, err := r.Scratch(ws)
		if err != nil {
			t.Fatal(err)
		}
		if entries, err := os.ReadDir(scratch.Path); err != nil || len(entries) > 0 || filepath.Dir(scratch.Path) != r.Path() {
			t.Fatalf("%v %v in %s", entries, err, scratch.Path)
		}
		if err := r.AfterCreate(t.Context(), scratch); err != nil {
			t.Fatal(err)
		}
		want := scratch.Path + " " + issue.Identifier + " " + ws.Path + "\n" // the next run ends its processes with those of the workspace
		if got := read(t, filepath.Join(scratch.Path, "made")); got != want {
			t.Errorf("the hook saw %q, want %q", got, want)
		}
	}
	if known, unknown, err := r.Issues(); len(known) != 1 || len(unknown) > 0 || err != nil {
		t.Errorf("%v %v %v", known, unknown, err)
	}
	if err := r.RemoveScratch(ws); err == nil || !exists(ws.Path) {
		t.Errorf("it deletes a workspace: %v", err)
	}
}

func TestAScratchFolderGoesWithItsWorkspace(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		r := open(t, Hooks{})
		ws := prepare(t, r)
		scratch, err := r.Scratch(ws)
		if err != nil {
			t.Fatal(err)
		}
		if gone {
			os.RemoveAll(ws.Path)
		}
		if _, err := r.Remove(t.Context(), issue); err != nil || exists(scratch.Path) {
			t.Errorf("workspace gone %v: %v", gone, err)
		}
	}
}
