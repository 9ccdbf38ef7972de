package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// populateObjects copies objects of a folder into a new .git. They share no inode.
func populateObjects(ctx context.Context, into *os.Root, folder string, pointers []Pointer) error {
	for _, p := range pointers {
		name := path.Join("lfs", "objects", p.file())
		if err := into.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		err := copyChecked(ctx, into, name, filepath.Join(folder, p.file()), p, 0o444)
		if err != nil && !errors.Is(err, fs.ErrExist) { // the store and the work may both have it
			return err
		}
	}
	return nil
}

// copyChecked copies one object. One of the store that a fault of the disk has damaged is
// removed: the next session fetches it.
func copyChecked(ctx context.Context, into *os.Root, name, from string, p Pointer, mode fs.FileMode) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := into.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = errors.Join(copyObject(dst, readUntil{ctx, src}, p), dst.Close())
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, ErrLFS) {
		return errors.Join(fmt.Errorf("%w: an object of Git LFS is damaged; it is fetched again", ErrStore), os.Remove(from))
	}
	return err
}

// readUntil reads until a context ends.
type readUntil struct {
	ctx context.Context
	io.Reader
}

func (r readUntil) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

// pointerOf returns the pointer in a file of a work tree that the host has checked out, if
// the file is one in Git LFS.
func (o *Objects) pointerOf(name, path string, entry fs.DirEntry) (Pointer, bool) {
	if o == nil || !entry.Type().IsRegular() {
		return Pointer{}, false
	}
	if info, err := entry.Info(); err != nil || info.Size() < minPointer || info.Size() > maxPointer {
		return Pointer{}, false
	}
	text, err := os.ReadFile(path)
	p, ok := ParsePointer(text)
	return p, err == nil && ok && o.files[pointerAt{p, name}]
}

// AddObjects makes CopyTo write the contents of files in Git LFS in place of their
// pointers. The index forgets what it knows of these files, so that git compares their
// contents.
func (f *Files) AddObjects(ctx context.Context, objects *Objects) error {
	f.objects = objects
	c := command{dir: f.dir, repository: f.repository(), args: []string{"ls-files", "-s", "-z"}}
	out, err := f.store.host.run(ctx, c)
	if err != nil {
		return fmt.Errorf("read the index of a checkout: %w", err)
	}
	names := map[string]bool{}
	for file := range objects.files {
		names[file.path] = true
	}
	var entries strings.Builder
	for entry := range strings.SplitSeq(string(out), "\x00") {
		if _, name, _ := strings.Cut(entry, "\t"); names[name] {
			entries.WriteString(entry + "\x00")
		}
	}
	c.args, c.stdin = []string{"update-index", "-z", "--index-info"}, strings.NewReader(entries.String())
	if _, err := f.store.host.run(ctx, c); err != nil {
		return fmt.Errorf("write the index of a checkout: %w", err)
	}
	return nil
}
