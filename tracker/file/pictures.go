package file

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"github.com/symphony-runner/symphony/tracker"
)

// Attached returns nothing: all pictures are in texts.
func (f *folder) Attached(context.Context, tracker.Issue) ([]tracker.Picture, error) { return nil, nil }

// Read reads files in the folder, whose addresses begin there.
func (f *folder) Read(ctx context.Context, _ tracker.Issue, pictures []tracker.Picture, limit int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, p := range pictures {
			content, err := f.readPicture(p.Address, limit)
			if ctx.Err() != nil {
				err = interruptedError(ctx)
			}
			if !yield(content, err) {
				return
			}
		}
	}
}

// readPicture reads a regular file in the folder. Links may not lead out of it.
func (f *folder) readPicture(address string, limit int) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || !filepath.IsLocal(filepath.FromSlash(u.Path)) {
		return nil, tracker.ErrElsewhere
	}
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return nil, causeOf(err)
	}
	defer root.Close()
	file, err := root.OpenFile(filepath.FromSlash(u.Path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, causeOf(err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, causeOf(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	content, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if len(content) > limit {
		return nil, tracker.ErrTooLarge
	}
	return content, causeOf(err)
}

// causeOf returns an error without the path of the folder, which is the user's.
func causeOf(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}
