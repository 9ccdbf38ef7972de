package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// Revision names a state as it was loaded or saved. It is opaque to callers.
type Revision string

// revise is the revision of these bytes.
func revise(generation int64, data []byte) Revision {
	sum := sha256.Sum256(data)
	return Revision(fmt.Sprintf("%d-%x", generation, sum))
}

// generation is that of the revision; ok is false when no store handed it out.
func (r Revision) generation() (generation int64, ok bool) {
	number, _, _ := strings.Cut(string(r), "-")
	generation, err := strconv.ParseInt(number, 10, 64)
	return generation, err == nil
}

// File is a state in a local file, open for a run or for an edit. It is for one
// goroutine.
type File struct {
	path  string
	run   *os.File // the lock of the run; nil for an edit and when it is not open
	write *os.File // the lock for writing, which an edit holds all the time
	floor int64    // the next generation is above this one too
}

// OpenFile opens the state for a run: it makes the folder if need be and takes
// the lock of the run, which is held until Close or the end of the process. It
// fails with a [LockedError] when another run holds it. The state itself is not
// looked at.
func OpenFile(path string) (*File, error) {
	path, err := makeFolder(path)
	if err != nil {
		return nil, err
	}
	lock, err := acquire(path)
	if err != nil {
		return nil, err
	}
	return &File{path: path, run: lock}, nil
}

// EditFile opens the state for an edit: a Load and a Save right after it. A run
// may have it open meanwhile; its next Save is an [ErrConflict], as if another
// run had saved. It waits for the Save of a run that is in progress, and fails
// with [ErrLocked] when that takes too long.
func EditFile(ctx context.Context, path string) (*File, error) {
	path, err := makeFolder(path)
	if err != nil {
		return nil, err
	}
	lock, err := acquireWrite(ctx, path)
	if err != nil {
		return nil, err
	}
	return &File{path: path, write: lock}, nil
}

// makeFolder makes the folder of the state, and returns the absolute path.
func makeFolder(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("open state: %w: give an absolute path", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("open state: %w: make the folder, or keep the state elsewhere", err)
	}
	return path, nil
}

// Close gives up the locks that are held; nothing can be saved any more.
func (f *File) Close() error {
	var errs []error
	for _, lock := range []**os.File{&f.run, &f.write} {
		if *lock != nil {
			errs = append(errs, release(*lock))
			*lock = nil
		}
	}
	return errors.Join(errs...)
}

// Load reads the state and its revision. A missing file is an empty state. It
// fails with [ErrUnreadable] or [ErrNewer].
func (f *File) Load(ctx context.Context) (*schedule.State, Revision, error) {
	return load(ctx, f.path)
}

// ReadFile reads the state without the lock, to show it or to plan on it: what
// is read is whole, and may be old when the caller has it. It changes nothing
// on disk. It fails like Load.
func ReadFile(ctx context.Context, path string) (*schedule.State, error) {
	s, _, err := load(ctx, path)
	return s, err
}

func load(ctx context.Context, path string) (*schedule.State, Revision, error) {
	if ctx.Err() != nil {
		return nil, "", fmt.Errorf("load state %s: %w", path, context.Cause(ctx))
	}
	data, err := read(path)
	if err != nil {
		return nil, "", fmt.Errorf("load state %s: %w", path, err)
	}
	s, generation, err := Decode(data)
	if err != nil {
		return nil, "", fmt.Errorf("load state %s: %w", path, err)
	}
	return s, revise(generation, data), nil
}

// Save replaces the state of the revision. It fails with [ErrConflict] when the
// file holds another one, and with [ErrInvalid] when s cannot be kept; then, and
// when nothing but the generation would change, nothing is written. A write
// once begun is not cut short by ctx.
func (f *File) Save(ctx context.Context, s *schedule.State, rev Revision) (Revision, error) {
	rev, err := f.save(ctx, s, rev)
	if err != nil {
		return "", fmt.Errorf("save state %s: %w", f.path, err)
	}
	return rev, nil
}

func (f *File) save(ctx context.Context, s *schedule.State, rev Revision) (Revision, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if f.run == nil && f.write == nil {
		return "", fmt.Errorf("%w: open it again", fs.ErrClosed)
	}
	if f.write == nil { // nobody writes between what is read and what is written
		lock, err := acquireWrite(ctx, f.path)
		if err != nil {
			return "", err
		}
		defer release(lock)
	}
	present, err := read(f.path)
	if err != nil {
		return "", err
	}
	generation, ok := rev.generation()
	if !ok || revise(generation, present) != rev {
		return "", fmt.Errorf("%w: it is no longer what was loaded: load it again", ErrConflict)
	}
	next := nextGeneration(max(generation, f.floor))
	data, err := Encode(s, next)
	if err != nil {
		return "", err
	}
	if bytes.Equal(body(data), body(present)) {
		return rev, nil
	}
	if err := replace(f.path, data); err != nil {
		return "", fmt.Errorf("%w: nothing was changed: make room, or mend the permissions of the folder", err)
	}
	return revise(next, data), nil
}

// read is the bytes of the state; for a missing file, those of an empty one.
// The file may be anything, for instance a link or a pipe out of a strange
// repository: a link is refused, since replacing the file would replace the
// link and nothing should lead us to write elsewhere, and a pipe never blocks.
func read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Encode(schedule.New(schedule.Owner{}), 0)
	case errors.Is(err, syscall.ELOOP):
		return nil, unreadable("it is a symbolic link: name the file itself")
	case err != nil:
		return nil, unreadable("%w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, unreadable("%w", err)
	} else if !info.Mode().IsRegular() {
		return nil, unreadable("it is no regular file (%v)", info.Mode())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, unreadable("%w", err)
	}
	return data, nil
}
