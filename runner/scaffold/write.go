package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Write writes files into a folder and returns them, or writes none: if a file is there
// already, or cannot be written, the files before it are removed again. It writes nothing
// outside of the folder, whatever links there are in it. A first issue is left out where there
// are issues.
func Write(folder string, files []File) (written []File, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var made []string // files in the order in which they were made
	defer func() {
		if err != nil {
			for _, name := range slices.Backward(made) {
				_ = root.Remove(name) // a folder that somebody else uses by now stays
			}
		}
	}()
	if _, err := root.Lstat("issues"); err == nil {
		files = slices.DeleteFunc(files, func(f File) bool { return path.Dir(f.Path) == "issues" })
	}
	for _, f := range files {
		if _, err := root.Lstat(f.Path); err == nil {
			return nil, isThere(f.Path)
		}
	}
	for _, f := range files {
		if err := makeFolders(root, path.Dir(f.Path), &made); err != nil {
			return nil, fmt.Errorf("%s: %w; nothing was written", f.Path, err)
		}
		file, err := root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			made = append(made, f.Path)
			_, err = file.WriteString(f.Text)
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w; nothing was written", f.Path, err)
		}
	}
	return files, nil
}

// settingsFile is the name of the file that every setup writes.
const settingsFile = "WORKFLOW.md"

// Vacant returns an error if the folder has a WORKFLOW.md already.
func Vacant(folder string) error {
	if _, err := os.Lstat(filepath.Join(folder, settingsFile)); err == nil {
		return isThere(settingsFile)
	}
	return nil
}

func isThere(name string) error {
	return fmt.Errorf("%s is there already, and nothing is overwritten: remove or rename it, and run init again; nothing was written", name)
}

// makeFolders makes a folder below root, and the folders above it. An existing one must be a
// folder and no link: the target of a link is not a part of the repository.
func makeFolders(root *os.Root, folder string, made *[]string) error {
	if folder == "." {
		return nil
	}
	if err := makeFolders(root, path.Dir(folder), made); err != nil {
		return err
	}
	info, err := root.Lstat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err = root.Mkdir(folder, 0o755); err == nil {
			*made = append(*made, folder)
		}
		return err
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", folder)
	}
	return nil
}
