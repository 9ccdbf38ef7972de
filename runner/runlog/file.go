package runlog

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// maxFile bounds each of the two files of a log, in bytes.
const maxFile = 10 << 20

// Unbounded is the line that a log gets if it could not begin a new file.
const Unbounded = "the log goes on in its present file, without a bound, because it cannot begin a new one; remove what is in the way"

// File is the whole log of a run that shows a display: DIR/symphony.log. A line that
// would make it too large begins a new one, and the old one becomes DIR/symphony.log.1.
//
// Several processes may write one log. Each line is one write at the end of the file, so
// none overwrites another one, and who holds the lock of the file may replace it. The
// others see by the name that it was replaced.
type File struct {
	name string

	mu      sync.Mutex
	f       *os.File
	info    os.FileInfo // information on f
	err     error       // error of the first line that was lost
	stuck   error       // error of the first new file that could not be begun
	retryAt int64       // the size from which a new file is begun
}

// OpenFile opens the log in a folder, which it makes if it is missing. The folder too is
// not a link.
func OpenFile(folder string) (*File, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(folder); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is a link: remove it", folder)
	}
	l := &File{name: filepath.Join(folder, "symphony.log")}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

// open opens the file in place of the one that is open. It may come with a repository that
// somebody else wrote, so a link is not followed, and only a regular file is written to.
func (l *File) open() error {
	f, err := os.OpenFile(l.name, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file: remove it", l.name)
	}
	if err != nil {
		f.Close()
		return err
	}
	if l.f != nil {
		l.f.Close() // nothing is buffered
	}
	l.f, l.info, l.retryAt = f, info, maxFile
	return nil
}

// Path returns the name of the file; empty for none.
func (l *File) Path() string {
	if l == nil {
		return ""
	}
	return l.name
}

// Write implements [io.Writer]. It is called once for each line.
func (l *File) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.choose(int64(len(text))); err != nil && l.stuck == nil {
		l.stuck = err
		slog.New(slog.NewTextHandler(l.f, nil)).Warn(Unbounded, "error", err)
	}
	n, err := l.f.Write(text)
	if l.err == nil {
		l.err = err
	}
	return n, err
}

// choose opens the file for the next line of this length: the file that has the name now,
// or a new one if the present one would become too large. After an error the present one
// stays open. l.mu must be held.
func (l *File) choose(length int64) error {
	now, err := os.Lstat(l.name)
	switch {
	case err != nil || !os.SameFile(now, l.info): // another process has replaced it, or a person has removed it
		return l.open()
	case now.Size() == 0 || now.Size()+length <= l.retryAt:
		return nil
	}
	l.retryAt = now.Size() + length + maxFile/10
	return l.replace()
}

// replace begins a new file, unless another process is about to. l.mu must be held.
func (l *File) replace() error {
	err := syscall.Flock(int(l.f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil
	}
	err = nil // a file system without locks has no second writer
	if now, failed := os.Lstat(l.name); failed == nil && os.SameFile(now, l.info) {
		err = os.Rename(l.name, l.name+".1")
	}
	_ = syscall.Flock(int(l.f.Fd()), syscall.LOCK_UN)
	if err != nil {
		return err
	}
	return l.open()
}

// StuckAt returns the reason why the log could not begin a new file; nil if it could.
func (l *File) StuckAt() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stuck
}

// Failure returns the reason why lines were lost; nil when none was.
func (l *File) Failure() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
