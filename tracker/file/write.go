package file

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

const (
	// Temporary files begin with a dot, so that no read takes one for an issue.
	tempPrefix = ".symphony-"
	tempSuffix = ".tmp"
	// abandonedAge is the age at which a temporary file must be left from a crash.
	abandonedAge = time.Hour
	// maxRewrites bounds how often a write is repeated because somebody else saved
	// the file meanwhile.
	maxRewrites = 5
)

var (
	errChanged = errors.New("somebody else keeps changing the file: try again")
	errGone    = errors.New("the issue is gone: stop working on it")
)

// rewrite replaces the file of an issue by the edit of its content, in one step. The edit
// gets the time of the last change of the file. If the file changes meanwhile, the edit
// is repeated on the new content. If the file does not exist, the error is [errGone].
func (f *folder) rewrite(ctx context.Context, id string, edit func([]byte, time.Time) ([]byte, error)) error {
	if !isIssueName(id) {
		return errGone
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return err
	}
	defer root.Close()
	removeAbandoned(root)
	for range maxRewrites {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := tryReplace(root, fileName(id), edit)
		if !errors.Is(err, errChanged) {
			return err
		}
	}
	return errChanged
}

// tryReplace attempts the replacement once; [errChanged] asks for another attempt.
func tryReplace(root *os.Root, name string, edit func([]byte, time.Time) ([]byte, error)) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return errGone
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", name)
	}
	info, content, err := readFile(root, name)
	if err != nil {
		return err
	}
	edited, err := edit(content, info.ModTime())
	if err != nil || bytes.Equal(edited, content) {
		return err
	}
	temp := tempPrefix + rand.Text() + tempSuffix
	err = writeFile(root, temp, edited, info.Mode().Perm())
	if err == nil {
		err = checkUnchanged(root, name, content)
	}
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp) // if this fails, removeAbandoned tries again later
	}
	return err
}

// writeFile creates a file that is synced to disk when it returns.
func writeFile(root *os.Root, name string, content []byte, mode fs.FileMode) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
}

// checkUnchanged returns [errChanged] when the file no longer holds the content.
func checkUnchanged(root *os.Root, name string, content []byte) error {
	_, now, err := readFile(root, name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(now, content) {
		return errChanged
	}
	return err
}

// removeAbandoned removes temporary files that a crash left behind. Errors are
// ignored: the files do no harm.
func removeAbandoned(root *os.Root) {
	dir, err := root.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if !strings.HasPrefix(name, tempPrefix) || !strings.HasSuffix(name, tempSuffix) {
			continue
		}
		if info, err := root.Lstat(name); err == nil && time.Since(info.ModTime()) > abandonedAge {
			_ = root.Remove(name)
		}
	}
}
