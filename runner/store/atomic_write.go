package store

import (
	"errors"
	"os"
	"path/filepath"
)

// tempPath returns the file in which the next content of path is written. One name
// is enough, because only the holder of the write lock writes.
func tempPath(path string) string { return path + ".tmp" }

// writeAtomically replaces the content of the file. A kill or a power cut leaves
// the old content or the new one. The new one is on disk when it returns. The
// write lock must be held.
func writeAtomically(path string, data []byte) error {
	// O_EXCL: never write through a link that somebody put there.
	f, err := os.OpenFile(tempPath(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // if it stays, the next writer removes it
		return err
	}
	syncFolder(filepath.Dir(path))
	return nil
}

// syncFolder makes a rename in the folder survive a power cut. Without it the old
// content could come back, and an issue would be worked on unclaimed. Errors do
// not count: some file systems cannot do it, and the state is already saved.
func syncFolder(path string) {
	if folder, err := os.Open(path); err == nil {
		_ = folder.Sync()
		_ = folder.Close()
	}
}
