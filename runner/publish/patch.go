package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/symphony-runner/symphony/workspace/git"
)

// writePatch writes work that may leave as a patch into the folder. The patch has
// nothing but the changes: git apply would obey a diff in the agent's words, too.
//
// A file that is there is never replaced. If it has the same patch, that is the
// delivery; else it may be a person's, or work that a session began from the base again
// does not have, and the patch takes the next name.
func (p *Publisher) writePatch(ctx context.Context, w Work, r Result, changes []git.Change, now time.Time) (Result, error) {
	r.Record = Record{Base: w.Incoming.Base, Head: w.Last.Head, URL: w.Last.URL, At: w.Last.At}
	commit, err := p.squash(ctx, w, changes, "patch", now)
	if err != nil {
		return r, err
	}
	name, written, err := writeDiff(ctx, w.Incoming, commit, p.Folder, w.Branch)
	if err != nil {
		return r, fmt.Errorf("publish %s: write a patch: %w", w.Issue, err)
	}
	if written || r.Record.URL != name {
		r.Record.Head, r.Record.At = commit, now
	}
	r.Record.URL, r.Pushed, r.Published = name, written, true
	return r, nil
}

// writeDiff writes the difference between the merge base and a commit into a folder, under
// the name of a branch. It returns the path of the file that has the difference.
func writeDiff(ctx context.Context, in *git.Incoming, commit git.ObjectID, folder string, branch git.Branch) (file string, written bool, err error) {
	var patch bytes.Buffer
	if err := in.WritePatch(ctx, &patch, commit); err != nil {
		return "", false, err
	}
	return writeOnce(folder, path.Base(branch.String()), patch.Bytes())
}

// writeOnce writes a patch under the first name that is free, and returns the path of
// the file that has it.
func writeOnce(folder, name string, patch []byte) (file string, written bool, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", false, err
	}
	for n := 1; n <= maxPatches; n++ {
		file = filepath.Join(folder, numbered(name, n)+".patch")
		switch old, err := readRegular(file, len(patch)); {
		case errors.Is(err, fs.ErrNotExist):
			return file, true, writeWhole(file, func(w io.Writer) error {
				_, err := w.Write(patch)
				return err
			})
		case err == nil && bytes.Equal(old, patch):
			return file, false, nil
		}
	}
	return "", false, fmt.Errorf("%s and %d names after it are taken; remove patches that are not needed any more", filepath.Join(folder, name+".patch"), maxPatches-1)
}

// maxPatches bounds the patches of one issue.
const maxPatches = 1000

// readRegular returns the content of a regular file of that size, and nil for anything
// else.
func readRegular(file string, size int) ([]byte, error) {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(size) {
		return nil, err
	}
	return os.ReadFile(file)
}

// writeWhole makes a file with what write writes, which only the user may read. A kill leaves the
// whole file or none.
func writeWhole(file string, write func(io.Writer) error) error {
	draft := file + ".tmp"
	if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) { // a killed run left it
		return err
	}
	f, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(draft, file)
	}
	if err != nil {
		_ = os.Remove(draft)
	}
	return err
}
