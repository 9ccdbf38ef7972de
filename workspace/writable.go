package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// CheckFile returns an error if no file can be written at this path; nil for an empty one. The
// folder may be missing.
func CheckFile(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		const write = 0o2
		if err := syscall.Access(path, write); err != nil {
			return &fs.PathError{Op: "write", Path: path, Err: err}
		}
		return nil
	}
	return CheckReplaced(path)
}

// CheckReplaced returns an error if no new file can be put in the place of the one at this path;
// nil for an empty path.
func CheckReplaced(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder", path)
	}
	return CheckWritable(filepath.Dir(path))
}
