package workspace

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAWorkspaceIsMadeOnceAndReused(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{AfterCreate: "echo made >> log"})
	first, second := prepare(t, r), prepare(t, r)
	if !first.CreatedNow || second.CreatedNow {
		t.Errorf("created: %v, then %v", first.CreatedNow, second.CreatedNow)
	}
	if got := read(t, filepath.Join(first.Path, "log")); got != "made\n" {
		t.Errorf("after_create wrote %q", got)
	}
}

func TestAFailedAfterCreateLeavesNoWorkspace(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{AfterCreate: "mkdir -p a/b; touch a/b/c; exit 3"})
	for range 2 {
		if _, err := r.Prepare(t.Context(), issue); !errors.Is(err, ErrHook) {
			t.Fatal(err)
		}
		if exists(r.workspace(issue).Path) {
			t.Fatal("the half-made workspace is there")
		}
	}
}

func TestACancelledAfterCreateLeavesNoWorkspace(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "started")
	mkfifo(t, fifo)
	r := open(t, Hooks{AfterCreate: "touch a; echo $$ > " + fifo + "; sleep 60"})
	ctx, cancel := context.WithCancelCause(t.Context())
	stalled := errors.New("stalled")
	var pid int
	go func() {
		defer cancel(stalled)
		pid = parsePID(t, read(t, fifo))
	}()
	_, err := r.Prepare(ctx, issue)
	if !errors.Is(err, stalled) || errors.Is(err, ErrHook) {
		t.Error(err)
	}
	gone(t, pid)
	if exists(r.workspace(issue).Path) {
		t.Error("the half-made workspace is there")
	}
}

func TestAWorkspaceLeftPartialIsCreatedAgain(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{AfterCreate: "touch whole"})
	ws := r.workspace(issue)
	// A kill during after_create, or during the removal, leaves this.
	if err := errors.Join(r.markPartial(ws), os.Mkdir(ws.Path, 0o700)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(ws.Path, "rest"), "")
	if got := prepare(t, r); !got.CreatedNow {
		t.Error("not created now")
	}
	if exists(filepath.Join(ws.Path, "rest")) || !exists(filepath.Join(ws.Path, "whole")) {
		t.Error("the half-made workspace was used")
	}
	if got := prepare(t, r); got.CreatedNow {
		t.Error("the mark is still there")
	}
}

func TestAWorkspaceThatItsCallerFillsIsPartialUntilItIsFinished(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{AfterCreate: "exit 3"}) // is the caller's task
	begin := func() (ws Workspace, hasFile bool) {
		t.Helper()
		ws, err := r.Begin(t.Context(), issue)
		if err != nil {
			t.Fatal(err)
		}
		return ws, exists(filepath.Join(ws.Path, "file"))
	}
	ws, _ := begin()
	write(t, filepath.Join(ws.Path, "file"), "half")
	again, hasFile := begin()
	if !ws.CreatedNow || !again.CreatedNow || hasFile {
		t.Errorf("a workspace that was not finished: new %v, then %v; its file is there: %v", ws.CreatedNow, again.CreatedNow, hasFile)
	}
	write(t, filepath.Join(ws.Path, "file"), "whole")
	if err := r.Finish(ws); err != nil {
		t.Fatal(err)
	}
	if kept, hasFile := begin(); kept.CreatedNow || !hasFile {
		t.Errorf("a finished workspace: new %v; its file is there: %v", kept.CreatedNow, hasFile)
	}
}

func TestANoteIsKeptUntilTheWorkspaceIsRemoved(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	ws := prepare(t, r)
	for _, text := range []string{"one", "two", "", "three"} {
		if err := r.SaveNote(ws, text); err != nil || r.Note(ws) != text {
			t.Errorf("saved %q, read %q, %v", text, r.Note(ws), err)
		}
	}
	if _, err := r.Remove(t.Context(), issue); err != nil || r.Note(ws) != "" {
		t.Errorf("after the removal: %q, %v", r.Note(ws), err)
	}
	ws = prepare(t, r)
	if err := os.Symlink("/etc/passwd", filepath.Join(r.Path(), metadataDir, noteFile(ws.Key))); err != nil || r.Note(ws) != "" {
		t.Errorf("through a link: %q, %v", r.Note(ws), err)
	}
}

func TestAKillBeforeTheFolderWasMadeIsHarmless(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	if err := r.markPartial(r.workspace(issue)); err != nil {
		t.Fatal(err)
	}
	if ws := prepare(t, r); !ws.CreatedNow {
		t.Error("not created now")
	}
}

func TestPrepareDoesNothingForAnEndedContext(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("deadline")
	cancel(over)
	if _, err := r.Prepare(ctx, issue); !errors.Is(err, over) {
		t.Error(err)
	}
	if exists(r.workspace(issue).Path) {
		t.Error("made a workspace")
	}
}

func BenchmarkPrepareExisting(b *testing.B) {
	r := open(b, Hooks{})
	prepare(b, r)
	for b.Loop() {
		prepare(b, r)
	}
}

func BenchmarkPrepareNewAndRemove(b *testing.B) {
	r := openWith(b, Config{Root: b.TempDir()}, nil, slog.New(slog.DiscardHandler))
	for b.Loop() {
		prepare(b, r)
		if _, err := r.Remove(b.Context(), issue); err != nil {
			b.Fatal(err)
		}
	}
}

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
	if marked, err := r.exists(ws, partialFile(ws.Key)); err != nil || marked {
		t.Errorf("still marked: %v, %v", marked, err)
	}
	if ws := prepare(t, r); !ws.CreatedNow {
		t.Error("not created again")
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

func TestWorkspacesAreMadeAfterTheirMetadataWereRemoved(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	prepare(t, r)
	if err := os.RemoveAll(filepath.Join(r.path, metadataDir)); err != nil {
		t.Fatal(err)
	}
	prepare(t, r) // the one that is there
	if _, err := r.Prepare(t.Context(), Issue{ID: "id-2", Identifier: "A-2"}); err != nil {
		t.Fatal(err)
	}
	known, unknown, err := r.Issues()
	if err != nil || len(known) != 2 || len(unknown) > 0 {
		t.Errorf("issues: %v, unknown: %v, error: %v", known, unknown, err)
	}
}

func TestIssuesReturnsTheIssueOfEachWorkspace(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	for _, issue := range []Issue{{ID: "id-1", Identifier: "A-1"}, {ID: "id-2", Identifier: "weird/../name"}, {ID: "id-3", Identifier: "A-3"}} {
		if _, err := r.Prepare(t.Context(), issue); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Remove(t.Context(), Issue{ID: "id-3", Identifier: "A-3"}); err != nil {
		t.Fatal(err)
	}
	// The content of a record is not trusted: these do not fit the key.
	for key, text := range map[string]string{"B-1": `{"id":"x","identifier":"A-1"}`, "B-2": "{", "B-3": ""} {
		if err := os.Mkdir(filepath.Join(r.path, key), 0o700); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			if err := os.WriteFile(filepath.Join(r.path, metadataDir, key+".json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	known, unknown, err := r.Issues()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Issue{{ID: "id-1", Identifier: "A-1"}, {ID: "id-2", Identifier: "weird/../name"}}, known); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"B-1", "B-2", "B-3"}, unknown); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
}

// TestTheWorkspaceOfAnotherProjectIsLeftAlone gives two projects one root, with an issue of
// the same name in both.
func TestTheWorkspaceOfAnotherProjectIsLeftAlone(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	open := func(project string) *Root {
		return openWith(t, Config{Root: root, Project: project, Hooks: Hooks{BeforeRemove: "touch ../removed"}}, nil, slog.New(slog.DiscardHandler))
	}
	theirs, ours, old := open("the shop"), open("the bank"), open("")
	elsewhere := Issue{ID: "id-of-another-tracker", Identifier: issue.Identifier}
	for name, test := range map[string]struct {
		leave   func(r *Root, ws Workspace) error
		root    *Root
		issue   Issue
		foreign bool
	}{
		"complete":           {func(*Root, Workspace) error { return nil }, ours, issue, true},
		"busy":               {func(r *Root, ws Workspace) error { _, err := r.markBusy(ws); return err }, ours, issue, true},
		"half removed":       {func(r *Root, ws Workspace) error { return r.markPartial(ws) }, ours, issue, true},
		"another id":         {func(*Root, Workspace) error { return nil }, theirs, elsewhere, true},
		"of the project":     {func(*Root, Workspace) error { return nil }, theirs, issue, false},
		"unknown project":    {func(*Root, Workspace) error { return nil }, old, issue, false},
		"its folder is gone": {func(_ *Root, ws Workspace) error { return os.RemoveAll(ws.Path) }, ours, issue, false},
	} {
		ws := prepare(t, theirs)
		write(t, filepath.Join(ws.Path, "work"), "unfinished")
		_ = os.Remove(filepath.Join(root, "removed")) // by the hook of the case before
		if err := test.leave(theirs, ws); err != nil {
			t.Fatal(err)
		}
		theirs.Release(ws)
		got, err := test.root.Begin(t.Context(), test.issue)
		if errors.Is(err, ErrForeign) != test.foreign {
			t.Errorf("%s: begun with %v", name, err)
		}
		if err == nil {
			test.root.Release(got)
		}
		if !test.foreign {
			if failed, err := test.root.Remove(t.Context(), test.issue); err != nil || failed != nil || exists(ws.Path) {
				t.Errorf("%s: not removed: %v, %v", name, failed, err)
			}
			continue
		}
		err = test.root.Reclaim(t.Context(), test.issue)
		failed, removed := test.root.Remove(t.Context(), test.issue)
		if err := errors.Join(err, failed, removed); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !exists(filepath.Join(ws.Path, "work")) || exists(filepath.Join(root, "removed")) {
			t.Errorf("%s: the other project's work is gone, or its hook ran", name)
		}
		known, unknown, err := test.root.Issues()
		if err != nil || len(unknown) > 0 || test.root == ours && len(known) > 0 {
			t.Errorf("%s: issues are %v and %q, %v", name, known, unknown, err)
		}
		if failed, err := theirs.Remove(t.Context(), issue); err != nil || failed != nil || exists(ws.Path) {
			t.Errorf("%s: its own project cannot remove it: %v, %v", name, failed, err)
		}
	}
}
