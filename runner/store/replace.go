package store

import (
	"errors"
	"os"
	"path/filepath"
)

// draft is where the next content of the file is written. There is one, since
// only the holder of the lock for writing writes.
func draft(path string) string { return path + ".tmp" }

// replace makes data the content of the file, all at once: a kill or a power
// cut leaves the old content or the new. It returns when the new one is on disk.
func replace(path string, data []byte) error {
	// O_EXCL: never through a link that somebody put there.
	f, err := os.OpenFile(draft(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
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
		_ = os.Remove(f.Name()) // or whoever writes next will
		return err
	}
	syncFolder(filepath.Dir(path))
	return nil
}

// syncFolder makes a rename in the folder outlast a power cut. Without it the
// old content could come back, and an issue would be worked on unclaimed. Not
// every file system can do it, and by now the state is saved: no error counts.
func syncFolder(path string) {
	if folder, err := os.Open(path); err == nil {
		_ = folder.Sync()
		_ = folder.Close()
	}
}
