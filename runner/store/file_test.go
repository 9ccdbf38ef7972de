package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFileIsAStore(t *testing.T) {
	t.Parallel()
	testConformance(t, func(t *testing.T) storage { return fileStorage(filepath.Join(t.TempDir(), "state.json")) })
}

// fileStorage returns a file as a storage.
func fileStorage(path string) storage {
	return storage{
		open: func(t *testing.T) (openStore, func()) {
			f := mustOpen(t, path)
			return f, func() {
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
		},
		raw: func(t *testing.T) []byte {
			data, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			return data
		},
		put: func(t *testing.T, data []byte) {
			err := os.Remove(path)
			if data != nil {
				err = os.WriteFile(path, data, 0o600)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		},
	}
}

func TestOnlyTheOwnerCanReadTheFile(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "new", ".symphony")
	f := mustOpen(t, filepath.Join(folder, "state.json"))
	_, rev := mustLoad(t, f)
	mustSave(t, f, sample(), rev)
	got := map[string]fs.FileMode{}
	for _, name := range []string{"", "state.json", "state.json.lock"} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		got[name] = info.Mode().Perm()
	}
	want := map[string]fs.FileMode{"": 0o700, "state.json": 0o600, "state.json.lock": 0o600}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheTemporaryFileOfAKilledRunIsRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	for _, name := range []string{tempPath(path), path + ".tmp2"} {
		if err := os.WriteFile(name, []byte("half a sta"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := mustOpen(t, path)
	_, rev := mustLoad(t, f)
	mustSave(t, f, sample(), rev)
	if diff := cmp.Diff([]string{"state.json", "state.json.lock", "state.json.tmp2", "state.json.write.lock"}, listDir(t, filepath.Dir(path))); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNoRegularFileIsUnreadableAndNeverBlocks(t *testing.T) {
	t.Parallel()
	target := filepath.Join(t.TempDir(), "target.json")
	if err := os.WriteFile(target, mustEncode(t, sample(), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func(path string) error{
		"a folder":               func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":                 func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link to a good state": func(path string) error { return os.Symlink(target, path) },
		"a link to nothing":      func(path string) error { return os.Symlink("nothing", path) },
		"a link to itself":       func(path string) error { return os.Symlink(path, path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "state.json")
			f := mustOpen(t, path)
			_, rev := mustLoad(t, f)
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			if _, _, err := f.Load(t.Context()); !errors.Is(err, ErrUnreadable) || strings.Contains(err.Error(), "move it away") || !strings.Contains(err.Error(), "this user may read") {
				t.Errorf("Load: got %v", err)
			}
			if _, _, err := FileToRead(path).Load(t.Context()); !errors.Is(err, ErrUnreadable) {
				t.Errorf("ReadFile: got %v", err)
			}
			if _, err := f.Save(t.Context(), sample(), rev); !errors.Is(err, ErrUnreadable) {
				t.Errorf("Save: got %v", err)
			}
			if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() {
				t.Errorf("it was replaced: %v %v", info, err)
			}
		})
	}
}

func TestAFolderThatIsRemovedUnderARunIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), ".symphony")
	f := mustOpen(t, filepath.Join(folder, "state.json"))
	_, rev := mustLoad(t, f)
	rev = mustSave(t, f, sample(), rev)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	_, saveErr := f.Save(t.Context(), sampleWithClaims(1), rev)
	_, _, loadErr := f.Load(t.Context())
	for what, err := range map[string]error{"Save": saveErr, "Load": loadErr} {
		if !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), "removed or renamed under this run") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there again: %v", err)
	}
	next := mustOpen(t, filepath.Join(folder, "state.json"))
	if got, _ := mustLoad(t, next); len(got.Claims) != 0 {
		t.Errorf("the next run has %d claims", len(got.Claims))
	}
}

func TestTheAdviceIsForTheCause(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]string{
		syscall.EMFILE: "ulimit -n", syscall.ENOSPC: "make room on the disk", syscall.EROFS: "mount the disk", syscall.EACCES: "correct its permissions",
	} {
		if err := notRead(&fs.PathError{Op: "open", Path: "state.json", Err: cause}); !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", cause, err)
		} else if cause != syscall.EACCES && strings.Contains(err.Error(), "permissions") {
			t.Errorf("%v: %v", cause, err)
		}
	}
}

func TestASaveThatFailsLeavesTheOldState(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	f := mustOpen(t, path)
	_, rev := mustLoad(t, f)
	rev = mustSave(t, f, sample(), rev)
	// The temporary file cannot be written, as on a full disk.
	if err := os.MkdirAll(filepath.Join(tempPath(path), "something"), 0o700); err != nil {
		t.Fatal(err)
	}
	changed := sample()
	changed.Days = nil
	if _, err := f.Save(t.Context(), changed, rev); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("got %v", err)
	}
	if got, gotRev := mustLoad(t, f); gotRev != rev || cmp.Diff(sample(), got) != "" {
		t.Errorf("revision %s became %s: %s", rev, gotRev, cmp.Diff(sample(), got))
	}
	if err := os.RemoveAll(tempPath(path)); err != nil {
		t.Fatal(err)
	}
	mustSave(t, f, changed, rev) // the revision is still good
}

func TestAFileOfAnOlderVersionIsWrittenAgainOnlyWithAChange(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	old := mustRead(t, "testdata/version1.json")
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	f := mustOpen(t, path)
	s, rev := mustLoad(t, f)
	rev = mustSave(t, f, s, rev)
	if diff := cmp.Diff(string(old), string(mustRead(t, path))); diff != "" {
		t.Errorf("without a change: %s", diff)
	}
	s.Days = nil
	mustSave(t, f, s, rev)
	if got := mustRead(t, path); !bytes.HasPrefix(got, fmt.Appendf(nil, "{\n  \"version\": %d,\n  \"generation\": 43,", version)) {
		t.Errorf("with a change:\n%s", got)
	}
}

func TestNothingIsSavedWithoutTheLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	f := mustOpen(t, path)
	_, rev := mustLoad(t, f)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Save(t.Context(), sample(), rev); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestReadFileTakesNoLockAndChangesNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "state.json")
	if got, _, err := FileToRead(path).Load(t.Context()); err != nil || len(got.Claims) != 0 {
		t.Fatalf("a missing file: %v, %v", got, err)
	}
	if left := listDir(t, folder); len(left) > 0 {
		t.Fatalf("reading made %q", left)
	}
	f := mustOpen(t, path)
	_, rev := mustLoad(t, f)
	mustSave(t, f, sample(), rev)
	got, _, err := FileToRead(path).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got); diff != "" {
		t.Error(diff)
	}
}

// mustOpen opens the file for a run until the test ends.
func mustOpen(t *testing.T, path string) *File {
	t.Helper()
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// listDir returns the names in a folder.
func listDir(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// mustRead reads a file; the test ends if that fails.
func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The instant of the kill is random, so that it falls into every part of a save. The
// test waits for nothing.
func TestAKillAtAnyInstantLeavesTheOldStateOrTheNew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	last := int64(0)
	for range 50 {
		writer := start(t, "writer", path)
		printed := []string{writer.line(t)}
		<-time.After(rand.N(3 * time.Millisecond))
		printed = append(printed, writer.kill(t)...)

		saved, err := strconv.ParseInt(printed[len(printed)-1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, generation, err := Decode(data)
		if err != nil {
			t.Fatalf("after generation %d: %v", last, err)
		}
		if generation < saved || saved <= last {
			t.Fatalf("generation %d was on disk, %d was saved, %d is there now", last, saved, generation)
		}
		if s.Pause.Why == "" {
			t.Fatalf("generation %d does not hold what was saved", generation)
		}
		last = generation
	}
}
