package wiring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// DataFolder returns the folder of this program's files for a workflow.
func DataFolder(workflowPath string) string {
	return filepath.Join(filepath.Dir(workflowPath), ".symphony")
}

// MakeDataFolder makes that folder and hides it from git: it may be in the repository of a
// person. Call it before each write into the folder.
func MakeDataFolder(workflowPath string) error {
	folder := DataFolder(workflowPath)
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		err = hideFromGit(folder)
	}
	if err != nil {
		return DataFolderError(workflowPath, err)
	}
	return nil
}

// DataFolderError returns the error of a folder that cannot be made or written.
func DataFolderError(workflowPath string, err error) error {
	return fmt.Errorf("make the folder of this program: %w: it must be possible to write beside %s", err, filepath.Base(workflowPath))
}

// hideFromGit makes git ignore a folder. A file that is there is left as it is, but an empty
// one, which a full disk or a kill leaves, is written again.
func hideFromGit(folder string) error {
	name := filepath.Join(folder, ".gitignore")
	if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		_, err = f.WriteString("*\n")
		err = errors.Join(err, f.Close())
	}
	return err
}

// SessionFolder returns the part of it that belongs to sessions. A cache keeps it
// separately.
func SessionFolder(workflowPath string) string {
	return filepath.Join(DataFolder(workflowPath), "codex")
}

// TranscriptFolder returns the folder where the sessions of a workflow leave their event
// logs.
func TranscriptFolder(workflowPath string) string {
	return filepath.Join(DataFolder(workflowPath), "sessions")
}
