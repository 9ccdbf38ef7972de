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

func revisionOf(generation int64, data []byte) Revision {
	sum := sha256.Sum256(data)
	return Revision(fmt.Sprintf("%d-%x", generation, sum))
}

// generation returns the generation in the revision of a file; ok is false if
// the revision is not of a file.
func (r Revision) generation() (generation int64, ok bool) {
	number, _, _ := strings.Cut(string(r), "-")
	generation, err := strconv.ParseInt(number, 10, 64)
	return generation, err == nil
}

// File is a state in a local file, open for a run or for an edit. One goroutine
// uses a File.
type File struct {
	path      string
	runLock   *os.File // nil for an edit, and when closed
	writeLock *os.File // held all the time by an edit; nil for a run, which takes it for each Save
	floor     int64    // a save makes a generation above this one
	last      Revision // loaded or saved last; empty before the first Load
}

// OpenFile opens the state for a run. It makes the folder if necessary and takes
// the run lock, which is held until Close or the end of the process. It fails with
// a [LockedError] when another run holds the lock. It does not read the state.
func OpenFile(path string) (*File, error) {
	path, err := makeFolder(path)
	if err != nil {
		return nil, err
	}
	lock, err := acquireRunLock(path)
	if err != nil {
		return nil, err
	}
	return &File{path: path, runLock: lock}, nil
}

// EditFile opens the state for an edit: a Load and a Save right after it. A run
// may have the state open at the same time; its next Save fails with
// [ErrConflict], as if another run had saved. EditFile waits for a Save of the run
// that is in progress, and fails with [ErrLocked] when that takes too long.
func EditFile(ctx context.Context, path string) (*File, error) {
	path, err := makeFolder(path)
	if err != nil {
		return nil, err
	}
	lock, err := acquireWriteLock(ctx, path)
	if err != nil {
		return nil, err
	}
	return &File{path: path, writeLock: lock}, nil
}

// FileToRead returns the state without a lock, to show it or to plan on it. The state that Load
// returns is complete, but a run may already have replaced it. Nothing changes on disk, and a Save
// fails.
func FileToRead(path string) *File { return &File{path: path} }

// makeFolder makes the folder of the state, and returns the state's absolute path.
func makeFolder(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("open state: %w: give an absolute path", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("open state: %w: %s", err, remedy(err, "make the folder, or keep the state elsewhere"))
	}
	return path, nil
}

// Close releases the locks. A Save after it fails.
func (f *File) Close() error {
	var errs []error
	for _, lock := range []**os.File{&f.runLock, &f.writeLock} {
		if *lock != nil {
			errs = append(errs, release(*lock))
			*lock = nil
		}
	}
	return errors.Join(errs...)
}

// Load reads the state and its revision. The state of a missing file is empty. It
// fails with [ErrNewer], and with [ErrUnreadable] also for a file that is gone or older
// than what this File has loaded or saved.
func (f *File) Load(ctx context.Context) (*schedule.State, Revision, error) {
	s, rev, err := f.load(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("load state %s: %w", f.path, err)
	}
	f.last = rev
	return s, rev, nil
}

func (f *File) load(ctx context.Context) (*schedule.State, Revision, error) {
	if ctx.Err() != nil {
		return nil, "", context.Cause(ctx)
	}
	data, err := readOrEmpty(f.path)
	if err != nil {
		return nil, "", err
	}
	s, generation, err := Decode(data)
	if err != nil {
		return nil, "", err
	}
	rev := revisionOf(generation, data)
	return s, rev, f.checkFollows(rev)
}

// checkFollows returns an error if the file no longer holds the state that was loaded or saved
// last, nor a later one.
func (f *File) checkFollows(rev Revision) error {
	if f.last == "" || rev == f.last {
		return nil
	}
	generation, _ := rev.generation() // both are of a file
	last, _ := f.last.generation()
	if _, err := os.Lstat(f.path); generation < last && errors.Is(err, fs.ErrNotExist) {
		return vanished("the file")
	}
	return follows(generation, last)
}

// Save replaces the state of the revision. It fails with [ErrConflict] when the
// file holds another one, and with [ErrInvalid] when s cannot be encoded. It
// writes nothing if only the generation would change. Canceling ctx does not
// interrupt a write.
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
	if f.runLock == nil && f.writeLock == nil {
		return "", fmt.Errorf("%w: open it again", fs.ErrClosed)
	}
	if f.writeLock == nil { // so that nobody writes between our read and our write
		lock, err := acquireWriteLock(ctx, f.path)
		if errors.Is(err, fs.ErrNotExist) {
			return "", vanished("the folder of the file")
		}
		if err != nil {
			return "", err
		}
		defer release(lock)
	}
	present, err := readOrEmpty(f.path)
	if err != nil {
		return "", err
	}
	generation, ok := rev.generation()
	if !ok || revisionOf(generation, present) != rev {
		return "", fmt.Errorf("%w: it is no longer what was loaded: load it again", ErrConflict)
	}
	next := nextGeneration(max(generation, f.floor))
	data, err := Encode(s, next)
	if err != nil {
		return "", err
	}
	if bytes.Equal(afterHead(data), afterHead(present)) {
		return rev, nil
	}
	if err := writeAtomically(f.path, data); err != nil {
		return "", fmt.Errorf("%w: nothing was changed: %s", err, remedy(err, "correct the permissions of the folder"))
	}
	f.last = revisionOf(next, data)
	return f.last, nil
}

// readOrEmpty returns the encoded state of the file, or of an empty state if there is no file.
// A strange repository can put anything there. A link is an error: a save would
// replace the link, and must not write elsewhere. A pipe does not block.
func readOrEmpty(path string) ([]byte, error) {
	f, size, err := openRegular(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Encode(schedule.New(schedule.Owner{}), 0)
	case errors.Is(err, syscall.ELOOP):
		return nil, notRead(errors.New("it is a symbolic link"))
	case err != nil:
		return nil, notRead(err)
	}
	defer f.Close()
	var data bytes.Buffer
	data.Grow(int(min(size, maxBytes)) + bytes.MinRead) // each save reads the file
	if _, err := data.ReadFrom(io.LimitReader(f, maxBytes+1)); err != nil {
		return nil, notRead(err)
	}
	return data.Bytes(), nil
}

// openRegular opens a regular file for reading, and returns its size. It follows no
// link and never blocks; a link is an ELOOP.
func openRegular(path string) (f *os.File, size int64, err error) {
	f, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("it is not a regular file (%v)", info.Mode())
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// tempPath returns the file in which the next content of path is written. One name
// is enough, because only the holder of the write lock writes.
func tempPath(path string) string { return path + ".tmp" }

// writeAtomically replaces the content of the file. A kill or a power cut leaves
// the old content or the new one. The new one is on disk when it returns. The
// write lock must be held.
func writeAtomically(path string, data []byte) error {
	// O_EXCL: never write through a link that somebody put there.
	f, err := os.OpenFile(tempPath(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // if it stays, the next writer removes it
		return err
	}
	syncFolder(filepath.Dir(path))
	return nil
}

// syncFolder makes a rename in the folder survive a power cut. Without it the old
// content could come back, and an issue would be worked on unclaimed. Errors do
// not count: some file systems cannot do it, and the state is already saved.
func syncFolder(path string) {
	if folder, err := os.Open(path); err == nil {
		_ = folder.Sync()
		_ = folder.Close()
	}
}
