package workspace

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
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

func TestATimedOutAfterCreateLeavesNoWorkspace(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{AfterCreate: "touch a; sleep 60", Timeout: 100 * time.Millisecond})
	if _, err := r.Prepare(t.Context(), issue); !errors.Is(err, ErrHookTimeout) {
		t.Error(err)
	}
	if exists(r.workspace(issue).Path) {
		t.Error("the half-made workspace is there")
	}
}

func TestAWorkspaceLeftHalfMadeIsMadeAnew(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{AfterCreate: "touch whole"})
	ws := r.workspace(issue)
	// What a kill during after_create, or during removal, leaves.
	if err := errors.Join(r.mark(ws), os.Mkdir(ws.Path, 0o700)); err != nil {
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

func TestAKillBeforeTheFolderWasMadeIsHarmless(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	if err := r.mark(r.workspace(issue)); err != nil {
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
