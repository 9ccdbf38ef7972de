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

	"github.com/symphony-runner/symphony/workspace"
)

// holder is what a run writes into the lock file, for people.
type holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
	Command string    `json:"command"`
}

// maxHolder bounds what is read of a lock file, in bytes.
const maxHolder = 4 << 10

// deadHolder is how long the lock of a run that was killed may stay taken: a
// child that it was about to start has it too, and the system closes the files
// of a dead process in its own time.
const deadHolder = 2 * time.Second

// acquire takes the lock of the state at path, or says who has it. The lock is
// the operating system's, on a file beside the state: it ends with the process
// however that ends, so a lock file by itself is no lock. The file is never
// deleted: two runs could then each hold the lock of a file of that name. Go
// opens files close-on-exec, so no running child keeps the lock.
func acquire(path string) (*os.File, error) {
	const flags = os.O_RDWR | os.O_CREATE | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	f, err := os.OpenFile(path+".lock", flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock state: %w: mend it, or keep the state elsewhere", err)
	}
	if err = lock(f); err == nil {
		if err = sign(f); err == nil {
			return f, nil
		}
	}
	defer f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, lockedBy(f, path)
	}
	return nil, fmt.Errorf("lock state %s: %w: keep the state on a local disk that can be written", path, err)
}

// writeTime bounds the wait for the lock for writing, which is held for moments.
const writeTime = 5 * time.Second

// acquireWrite takes the lock for writing the state at path. A run takes it for
// each Save, and an edit for its whole time. It removes what a killed process
// was writing, which is nobody's now.
func acquireWrite(ctx context.Context, path string) (*os.File, error) {
	const flags = os.O_RDWR | os.O_CREATE | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	f, err := os.OpenFile(path+".write.lock", flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock state for writing: %w: remove it, or keep the state elsewhere", err)
	}
	for giveUp := time.After(writeTime); ; {
		if err = flock(f, syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		select {
		case <-giveUp:
			return nil, errors.Join(fmt.Errorf("lock state %s for writing: %w: another command is about to change it for %v: end that, and try again",
				path, ErrLocked, writeTime), f.Close())
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("lock state %s for writing: %w", path, context.Cause(ctx)), f.Close())
		case <-time.After(writeTime / 1000):
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock state %s for writing: %w: keep the state on a local disk that can be written", path, err), f.Close())
	}
	if err := os.Remove(draft(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("remove what was left of a save: %w: remove it", err), release(f))
	}
	return f, nil
}

// lock takes the lock without waiting for whoever works with it, but does wait a
// moment for that of a run that was killed.
func lock(f *os.File) error {
	for giveUp := time.After(deadHolder); ; {
		err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || !abandoned(f) {
			return err
		}
		select {
		case <-giveUp:
			return err
		case <-time.After(deadHolder / 100):
		}
	}
}

// release ends the lock. What the holder wrote is taken back first. To close
// the file is not enough: a child that is just being started has it open too,
// until its program is loaded.
func release(f *os.File) error {
	return errors.Join(f.Truncate(0), flock(f, syscall.LOCK_UN), f.Close())
}

// flock locks or unlocks.
func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// sign says in the lock file who holds it.
func sign(f *os.File) error {
	host, _ := os.Hostname() // without it there is less to read
	text, err := json.Marshal(holder{os.Getpid(), host, time.Now().UTC().Truncate(time.Second), line(strings.Join(os.Args, " "), maxTitle)})
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(text, '\n'), 0)
	return err
}

// holderOf is who holds the lock, as far as the lock file tells: the zero holder
// when it has not said yet.
func holderOf(f *os.File) holder {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxHolder))
	var h holder
	if err != nil || json.Unmarshal(text, &h) != nil {
		return holder{}
	}
	return h
}

// abandoned reports whether who took the lock is dead, or has not said who it is.
func abandoned(f *os.File) bool {
	h := holderOf(f)
	host, _ := os.Hostname()
	return h.PID == 0 || h.Host == host && !workspace.Alive(h.PID)
}

// lockedBy says who holds the lock.
func lockedBy(f *os.File, path string) error {
	h := holderOf(f)
	return &LockedError{Path: path, PID: h.PID, Host: line(h.Host, maxName), Since: h.Started, Command: line(h.Command, maxTitle)}
}
