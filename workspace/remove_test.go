package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRemoveDeletesTheWorkspaceAndFollowsNoLink(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	write(t, filepath.Join(outside, "kept"), "kept")
	r := open(t, Hooks{BeforeRemove: "ls > " + filepath.Join(outside, "seen") + "; exit 1"})
	ws := prepare(t, r)
	if err := os.MkdirAll(filepath.Join(ws.Path, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"out": outside, "a/b/out": outside, "up": "..", "a/file": filepath.Join(outside, "kept")} {
		if err := os.Symlink(to, filepath.Join(ws.Path, from)); err != nil {
			t.Fatal(err)
		}
	}
	failed, err := r.Remove(t.Context(), issue)
	if err != nil {
		t.Fatal(err)
	}
	if hook, ok := errors.AsType[*HookError](failed); !ok || hook.Hook != "before_remove" || !errors.Is(failed, ErrHook) {
		t.Errorf("the failure of the hook is not returned: %v", failed)
	}
	if exists(ws.Path) {
		t.Error("the workspace is there")
	}
	if diff := cmp.Diff("kept", read(t, filepath.Join(outside, "kept"))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("a\nout\nup\n", read(t, filepath.Join(outside, "seen"))); diff != "" {
		t.Error("before_remove saw", diff)
	}
	if marked, err := r.marked(ws, markOf(ws)); err != nil || marked {
		t.Errorf("still marked: %v, %v", marked, err)
	}
	if ws := prepare(t, r); !ws.CreatedNow {
		t.Error("not made anew")
	}
}

func TestRemovingWhatIsNotThereIsNoError(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{BeforeRemove: "exit 1"})
	for range 2 {
		if failed, err := r.Remove(t.Context(), issue); failed != nil || err != nil {
			t.Error(failed, err)
		}
	}
}
