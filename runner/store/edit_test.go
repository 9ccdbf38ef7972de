package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestAnEditBesideARunIsAConflictForIt(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(path string) (run, edit openStore, end func() error){
		"file": func(path string) (run, edit openStore, end func() error) {
			f := mustEdit(t, path)
			return mustOpen(t, path), f, f.Close
		},
		"cache": func(path string) (run, edit openStore, end func() error) {
			f, highWater := mustEdit(t, path), path+".generation"
			return mustOpen(t, path).WithHighWater(highWater), f.WithHighWater(highWater), f.Close
		},
	} {
		path := filepath.Join(t.TempDir(), "state.json")
		run, edit, end := open(path)
		state, rev := mustLoad(t, run)
		edited, editRev := mustLoad(t, edit)
		edited.Pause.Why = "edited"
		mustSave(t, edit, edited, editRev)
		if err := end(); err != nil {
			t.Error(err)
		}

		state.Days = sample().Days
		if _, err := run.Save(t.Context(), state, rev); !errors.Is(err, ErrConflict) {
			t.Errorf("%s: the run saves with %v", name, err)
		}
		state, rev = mustLoad(t, run)
		if state.Pause.Why != "edited" {
			t.Errorf("%s: the run reads %+v", name, state)
		}
		state.Days = sample().Days
		mustSave(t, run, state, rev)
	}
}

func TestASecondRunIsRefusedWhileTheFirstIsEdited(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	mustOpen(t, path)
	mustEdit(t, path)
	if _, err := OpenFile(path); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v", err)
	}
}

func TestAKilledEditBlocksNobody(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	run := mustOpen(t, path)
	_, rev := mustLoad(t, run)
	editor := start(t, "editor", path)
	editor.line(t) // it has it open
	if err := os.WriteFile(tempPath(path), []byte("half a sta"), 0o600); err != nil {
		t.Fatal(err)
	}
	editor.kill(t)
	mustSave(t, run, sample(), rev)
	f := mustEdit(t, path)
	if got, _ := mustLoad(t, f); cmp.Diff(sample(), got) != "" {
		t.Error(cmp.Diff(sample(), got))
	}
}

func TestTheWaitForAnEditIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	run := mustOpen(t, path)
	_, rev := mustLoad(t, run)
	editor := start(t, "editor", path)
	editor.line(t)

	stop := errors.New("told to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Millisecond, func() { cancel(stop) })
	if _, err := EditFile(ctx, path); !errors.Is(err, stop) {
		t.Errorf("a second edit that is stopped: %v", err)
	}
	if _, err := run.Save(t.Context(), sample(), rev); !errors.Is(err, ErrLocked) {
		t.Errorf("a save: %v", err)
	}
	editor.finish(t)
	mustSave(t, run, sample(), rev)
}

func TestNoEditAndNoSaveIsLost(t *testing.T) {
	t.Parallel()
	const editors, edits = 3, 20
	path := filepath.Join(t.TempDir(), "state.json")
	run := mustOpen(t, path)
	count := func(s *schedule.State) {
		if len(s.Days) == 0 {
			s.Days = []schedule.Day{{Date: "2026-03-01"}}
		}
		s.Days[0].Sessions++
	}
	var wg sync.WaitGroup
	for range editors {
		wg.Go(func() {
			for range edits {
				f, err := EditFile(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				s, rev, err := f.Load(t.Context())
				if err == nil {
					count(s)
					_, err = f.Save(t.Context(), s, rev)
				}
				if err = errors.Join(err, f.Close()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for saved := 0; saved < edits; {
		s, rev := mustLoad(t, run)
		count(s)
		switch _, err := run.Save(t.Context(), s, rev); {
		case err == nil:
			saved++
		case !errors.Is(err, ErrConflict):
			t.Fatal(err)
		}
	}
	wg.Wait()
	if s, _ := mustLoad(t, run); s.Days[0].Sessions != (editors+1)*edits {
		t.Errorf("%d were kept of %d", s.Days[0].Sessions, (editors+1)*edits)
	}
}

// mustEdit opens the state for an edit until the test ends.
func mustEdit(t *testing.T, path string) *File {
	t.Helper()
	f, err := EditFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
