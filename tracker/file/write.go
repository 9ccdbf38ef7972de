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
	// Our temporary files begin with a dot, so that no read takes one for an issue.
	tempPrefix = ".symphony-"
	tempSuffix = ".tmp"
	// abandoned is the age at which one was surely left behind by a crash.
	abandoned = time.Hour
	// rewrites bounds how often a write starts again because somebody else
	// saved the file meanwhile.
	rewrites = 5
)

var (
	errChanged = errors.New("somebody else keeps changing the file: try again")
	errGone    = errors.New("the issue is gone: stop working on it")
)

// rewrite replaces the file of an issue by the edit of its content, in one
// step. When the file changes meanwhile the edit is made again on what is there;
// when it is not there, the error is [errGone].
func (f *folder) rewrite(ctx context.Context, id string, edit func([]byte) ([]byte, error)) error {
	if !visible(id) {
		return errGone
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return err
	}
	defer root.Close()
	sweep(root)
	for range rewrites {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := replace(root, fileName(id), edit)
		if !errors.Is(err, errChanged) {
			return err
		}
	}
	return errChanged
}

// replace makes one attempt; [errChanged] asks for another.
func replace(root *os.Root, name string, edit func([]byte) ([]byte, error)) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return errGone
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", name)
	}
	info, content, err := readFile(root, name)
	if err != nil {
		return err
	}
	edited, err := edit(content)
	if err != nil || bytes.Equal(edited, content) {
		return err
	}
	temp := tempPrefix + rand.Text() + tempSuffix
	err = writeFile(root, temp, edited, info.Mode().Perm())
	if err == nil {
		err = unchanged(root, name, content)
	}
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp) // if this fails, a sweep tries again
	}
	return err
}

// writeFile creates a file that is safely on disk when it returns.
func writeFile(root *os.Root, name string, content []byte, mode fs.FileMode) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
}

// unchanged fails with [errChanged] when the file no longer holds the content.
func unchanged(root *os.Root, name string, content []byte) error {
	_, now, err := readFile(root, name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(now, content) {
		return errChanged
	}
	return err
}

// sweep removes temporary files that a crash left behind. It does what it can:
// they harm nobody.
func sweep(root *os.Root) {
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
		if info, err := root.Lstat(name); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = root.Remove(name)
		}
	}
}
