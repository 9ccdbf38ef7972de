package attempt

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOnlyARolloutThatWouldBeKeptIsOpened(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	writeFile(t, outside, "outside")
	const name = "rollout-2026-11-21T12-00-00-thread-1.jsonl"
	for what, test := range map[string]struct {
		put    func(sessions string) error
		opened bool
	}{
		"in a folder by date": {func(sessions string) error {
			return errors.Join(os.MkdirAll(filepath.Join(sessions, "2026/11/21"), 0o700), os.WriteFile(filepath.Join(sessions, "2026/11/21", name), []byte("text"), 0o600))
		}, true},
		"without a date": {func(sessions string) error { return os.WriteFile(filepath.Join(sessions, name), []byte("text"), 0o600) }, true},
		"of another thread": {func(sessions string) error {
			return os.WriteFile(filepath.Join(sessions, "rollout-thread-2.jsonl"), nil, 0o600)
		}, false},
		"a link":             {func(sessions string) error { return os.Symlink(outside, filepath.Join(sessions, name)) }, false},
		"a link to a folder": {func(sessions string) error { return os.Symlink(filepath.Dir(outside), filepath.Join(sessions, "2026")) }, false},
		"a pipe":             {func(sessions string) error { return syscall.Mkfifo(filepath.Join(sessions, name), 0o600) }, false},
		"a folder":           {func(sessions string) error { return os.Mkdir(filepath.Join(sessions, name), 0o700) }, false},
		"too long a rollout": {func(sessions string) error {
			return errors.Join(os.WriteFile(filepath.Join(sessions, name), nil, 0o600), os.Truncate(filepath.Join(sessions, name), MaxRollout+1))
		}, false},
		"no folder of sessions": {os.Remove, false},
	} {
		sessionDir := t.TempDir()
		sessions := filepath.Join(sessionDir, "home", "A-1", "sessions")
		if err := errors.Join(os.MkdirAll(sessions, 0o700), test.put(sessions)); err != nil {
			t.Fatal(err)
		}
		f, err := OpenRollout(sessionDir, "A-1", "thread-1")
		if opened := err == nil; opened != test.opened || !opened && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", what, err)
		}
		if err == nil {
			f.Close()
		}
	}
	if _, err := OpenRollout(t.TempDir(), "A-1", "../../x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestAPlacedRolloutIsAllThatAHomeHolds(t *testing.T) {
	t.Parallel()
	sessionDir := t.TempDir()
	writeFile(t, filepath.Join(sessionDir, "home", "A-1", "sessions", "2026", "rollout-x-thread-1.jsonl"), "old")
	writeFile(t, filepath.Join(sessionDir, "home", "A-1", "state_5.sqlite"), "paths of another machine")
	if err := PlaceRollout(sessionDir, "A-1", "thread-1", strings.NewReader("new")); err != nil {
		t.Fatal(err)
	}
	if left := filesBelow(t, sessionDir); len(left) != 1 {
		t.Errorf("%v", left)
	}
	f, err := OpenRollout(sessionDir, "A-1", "thread-1")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if text, err := io.ReadAll(f); string(text) != "new" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if err := PlaceRollout(sessionDir, "A-1", "thread-1", io.MultiReader(strings.NewReader("a part"), failing{})); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
	if left := filesBelow(t, sessionDir); len(left) != 0 {
		t.Errorf("a part of a thread is left: %v", left)
	}
	if err := PlaceRollout(sessionDir, "A-1", "../x", strings.NewReader("")); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
