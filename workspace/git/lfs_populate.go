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

// copyChecked copies one object. It removes an object of the store that a fault of the disk has
// damaged: the next session fetches it again.
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
