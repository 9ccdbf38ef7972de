package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/workspace"
)

// checkPlaces returns an error for a flag or a setting that names a place where this run
// cannot write. Otherwise that would be found when sessions have ended, or one by one by
// them. It creates nothing.
func (x *tickRun) checkPlaces() error {
	if err := checkFile(x.reportFile); err != nil {
		return fmt.Errorf("%w: %s: %w; name a file that can be written", errUsage, x.option("report"), err)
	}
	if err := checkFolder(x.logs); err != nil {
		return fmt.Errorf("%w: %s: %w; name a folder that can be written", errUsage, x.option("logs"), err)
	}
	if x.dryRun {
		return nil
	}
	if x.store == nil {
		if err := checkReplaced(x.statePlace().path()); err != nil {
			return fmt.Errorf("%w: %s: %w; name a file that can be written", errUsage, x.statePlace().stateOption(), err)
		}
	}
	if x.readsOnly {
		return nil
	}
	s := x.wf.Settings
	if err := checkFolder(s.Workspace.Root); err != nil {
		return fmt.Errorf("workspace.root of %s: %w: %w; name a folder that can be written", filepath.Base(x.wf.Path), workspace.ErrRoot, err)
	}
	if err := checkFolder(s.Delivery.Folder); err != nil {
		return fmt.Errorf("delivery.folder of %s: %w: %w; name a folder that can be written", filepath.Base(x.wf.Path), workflow.ErrInvalid, err)
	}
	return nil
}

// mayNotWrite reports whether an error says that a place is there, and this process may not
// write to it. One that only reads can go on.
func mayNotWrite(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// checkFile returns an error if no file can be written at this path; nil for an empty one.
// The folder may be missing, because it is made.
func checkFile(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		const write = 0o2
		if err := syscall.Access(path, write); err != nil {
			return &fs.PathError{Op: "write", Path: path, Err: err}
		}
		return nil
	}
	return checkReplaced(path)
}

// checkReplaced returns an error if no new file can be put in the place of the one at this
// path; nil for an empty path.
func checkReplaced(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder", path)
	}
	return checkFolder(filepath.Dir(path))
}

// checkFolder returns an error if no file can be written into the folder of this path, which
// may be missing; nil for an empty path.
func checkFolder(path string) error {
	if path == "" {
		return nil
	}
	return workspace.CheckWritable(path)
}
