package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// dataFolder returns the folder of this program's files for a workflow.
func dataFolder(workflowPath string) string {
	return filepath.Join(filepath.Dir(workflowPath), ".symphony")
}

// makeDataFolder makes that folder and hides it from git: it may be in the repository of a
// person. Call it before each write into the folder.
func makeDataFolder(workflowPath string) error {
	folder := dataFolder(workflowPath)
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		err = hideFromGit(folder)
	}
	if err != nil {
		return dataFolderError(workflowPath, err)
	}
	return nil
}

// dataFolderError returns the error of a folder that cannot be made or written.
func dataFolderError(workflowPath string, err error) error {
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

// sessionFolder returns the part of it that belongs to sessions. A cache keeps it
// separately.
func sessionFolder(workflowPath string) string {
	return filepath.Join(dataFolder(workflowPath), "codex")
}

// transcriptFolder returns the folder where the sessions of a workflow leave their event
// logs.
func transcriptFolder(workflowPath string) string {
	return filepath.Join(dataFolder(workflowPath), "sessions")
}
