package attempt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/symphony-runner/symphony/workspace"
)

// MaxRollout bounds the rollout that is kept of a session, in bytes. A longer one is
// removed, so the next attempt begins a new thread.
const MaxRollout = 64 << 20

// rolloutFolder is the folder of a Codex home that holds the rollouts, in folders by date.
const rolloutFolder = "sessions"

// rolloutTime takes the place of the time in the name of a rollout that [PlaceRollout]
// writes. Codex finds a thread by the end of the name.
const rolloutTime = "2026-01-01T00-00-00"

// isRollout reports whether a file is the rollout of a thread, from which Codex can resume it.
func isRollout(name, thread string) bool {
	return thread != "" && strings.HasSuffix(name, "-"+thread+".jsonl")
}

// IsThread reports whether the id of a thread can be a part of a file name. The ids of Codex
// have only letters, digits and hyphens.
func IsThread(thread string) bool {
	if thread == "" || len(thread) > 128 || thread[0] == '-' {
		return false
	}
	return strings.Trim(thread, "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// OpenRollout opens the rollout of a thread in the Codex home of an issue: all that
// another machine needs to resume the thread. It follows no link. It fails with
// [fs.ErrNotExist] if there is no rollout, or if it is longer than [MaxRollout].
func OpenRollout(sessionDir, identifier, thread string) (io.ReadCloser, error) {
	none := &fs.PathError{Op: "open the rollout of", Path: thread, Err: fs.ErrNotExist}
	if !IsThread(thread) {
		return nil, none
	}
	home, err := os.OpenRoot(filepath.Join(sessionDir, homesDir, workspace.Key(identifier)))
	if err != nil {
		return nil, err
	}
	defer home.Close()
	found := ""
	err = fs.WalkDir(home.FS(), rolloutFolder, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && isRollout(entry.Name(), thread) {
			found = name
			return fs.SkipAll
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case found == "":
		return nil, none
	}
	named, err := home.Lstat(found)
	if err != nil {
		return nil, err
	}
	f, err := home.OpenFile(found, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || !os.SameFile(named, info) || info.Size() > MaxRollout {
		return nil, errors.Join(none, err, f.Close())
	}
	return f, nil
}

// PlaceRollout makes the Codex home of an issue hold the given rollout of a thread and
// nothing else, so that the next session can resume it. It reads at most [MaxRollout]
// bytes; with more, the home stays empty and PlaceRollout fails.
func PlaceRollout(sessionDir, identifier, thread string, rollout io.Reader) error {
	if !IsThread(thread) {
		return fmt.Errorf("place the rollout of %.40q: %w", thread, fs.ErrInvalid)
	}
	folder := filepath.Join(sessionDir, homesDir, workspace.Key(identifier))
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		err = cleanHome(folder, "")
	}
	if err != nil {
		return fmt.Errorf("place the rollout of %s: %w", thread, err)
	}
	home, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("place the rollout of %s: %w", thread, err)
	}
	defer home.Close()
	name := path.Join(rolloutFolder, "rollout-"+rolloutTime+"-"+thread+".jsonl")
	if err := writeRollout(home, name, rollout); err != nil {
		_ = home.Remove(name) // a part of a thread must not be resumed
		return fmt.Errorf("place the rollout of %s: %w", thread, err)
	}
	return nil
}

func writeRollout(home *os.Root, name string, rollout io.Reader) error {
	if err := home.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := home.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(rollout, MaxRollout+1))
	if err == nil && n > MaxRollout {
		err = fmt.Errorf("it is larger than %d bytes", MaxRollout)
	}
	return errors.Join(err, f.Close())
}
