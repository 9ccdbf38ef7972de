package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/symphony-runner/symphony/internal/bounds"
	"github.com/symphony-runner/symphony/workspace"
)

// Holder describes the process that holds the run lock. It is written into the lock
// file, for people to read.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
	Command string    `json:"command"`
}

// maxHolderBytes bounds how much of a lock file is read.
const maxHolderBytes = 4 << 10

// killedRunGrace bounds the wait for the lock of a run that was killed: a child that
// it was just starting shares the lock, and the system takes a moment to close the
// files of a dead process.
const killedRunGrace = 2 * time.Second

// lockRemedy is the remedy for a lock file that cannot be opened.
const lockRemedy = "remove that file or correct its permissions, or keep the state elsewhere"

// openLockFile opens a lock file beside the state. It follows no link and never
// blocks. Go opens files close-on-exec, so no running child keeps the lock.
func openLockFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
}

// acquireRunLock takes the run lock of the state at path, or returns a
// [LockedError]. The lock is the operating system's, on a file beside the state:
// it ends with the process however that ends, so the existence of a lock file does
// not mean that the state is locked. The file is never deleted: otherwise two runs
// could each hold the lock of a file of that name.
func acquireRunLock(path string) (*os.File, error) {
	f, err := openLockFile(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("lock state: %w: %s", err, remedy(err, lockRemedy))
	}
	wasKilled := func() bool { return holderIsGone(f) }
	if err = waitForLock(context.Background(), f, killedRunGrace, wasKilled); err == nil {
		if err = writeHolder(f); err == nil {
			return f, nil
		}
	}
	defer f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, &LockedError{path, readHolder(f)}
	}
	return nil, fmt.Errorf("lock state %s: %w: keep the state on a local disk that can be written", path, err)
}

const (
	// writeLockTimeout bounds the wait for the write lock, which is held for moments.
	writeLockTimeout = 5 * time.Second
	// lockInterval is the time between two tries to get a lock.
	lockInterval = 5 * time.Millisecond
)

// acquireWriteLock takes the write lock of the state at path. A run holds it during
// each Save, and an edit all the time. acquireWriteLock removes the temporary file
// that a killed process left.
func acquireWriteLock(ctx context.Context, path string) (*os.File, error) {
	f, err := openLockFile(path + ".write.lock")
	if err != nil {
		return nil, fmt.Errorf("lock state for writing: %w: %s", err, remedy(err, lockRemedy))
	}
	switch err := waitForLock(ctx, f, writeLockTimeout, func() bool { return true }); {
	case err == nil:
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(fmt.Errorf("lock state %s for writing: %w: another command has been changing it for %v: end that command, and try again",
			path, ErrLocked, writeLockTimeout), f.Close())
	case ctx.Err() != nil:
		return nil, errors.Join(fmt.Errorf("lock state %s for writing: %w", path, err), f.Close())
	default:
		return nil, errors.Join(fmt.Errorf("lock state %s for writing: %w: keep the state on a local disk that can be written", path, err), f.Close())
	}
	if err := os.Remove(tempPath(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("remove the temporary file of a killed run: %w: remove it by hand", err), release(f))
	}
	return f, nil
}

// waitForLock takes the lock, and waits for it at most a time, as long as the holder is one to
// wait for.
func waitForLock(ctx context.Context, f *os.File, most time.Duration, waits func() bool) error {
	for giveUp := time.After(most); ; {
		err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || !waits() {
			return err
		}
		select {
		case <-giveUp:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lockInterval):
		}
	}
}

// release clears the lock file and releases the lock. Closing the file would not be
// enough: a child that is just being started shares it until its program is loaded.
func release(f *os.File) error {
	return errors.Join(f.Truncate(0), flock(f, syscall.LOCK_UN), f.Close())
}

// flock calls flock(2) until no signal interrupts it.
func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// maxCommand bounds the command of the process that holds a lock, in characters.
const maxCommand = 200

func writeHolder(f *os.File) error {
	host, _ := os.Hostname() // the holder is useful even if its host is not known
	text, err := json.Marshal(Holder{os.Getpid(), host, time.Now().UTC().Truncate(time.Second), bounds.Line(strings.Join(os.Args, " "), maxCommand)})
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(text, '\n'), 0)
	return err
}

// readHolder reads who holds the lock. It returns the zero holder if the lock file
// does not say, because the holder has not yet written to it.
func readHolder(f *os.File) Holder {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxHolderBytes))
	var h Holder
	if err != nil || json.Unmarshal(text, &h) != nil {
		return Holder{}
	}
	h.Host, h.Command = bounds.Line(h.Host, maxName), bounds.Line(h.Command, maxCommand)
	return h
}

func holderIsGone(f *os.File) bool {
	h := readHolder(f)
	host, _ := os.Hostname()
	return h.PID == 0 || h.Host == host && !workspace.Alive(h.PID)
}
