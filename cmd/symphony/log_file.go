package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// maxLogFile bounds each of the two files of a log, in bytes.
const maxLogFile = 10 << 20

// logFile is the whole log of a run that shows a display: DIR/symphony.log. A line that
// would make it too large begins a new one, and the old one becomes DIR/symphony.log.1.
type logFile struct {
	name string

	mu   sync.Mutex
	f    *os.File
	size int64
	err  error // of the first line that was lost
}

// openLogFile opens the log in a folder, which it makes if it is missing. The folder too
// is no link.
func openLogFile(folder string) (*logFile, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(folder); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is a link: remove it", folder)
	}
	l := &logFile{name: filepath.Join(folder, "symphony.log")}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

// open opens the file. It may come with a repository that somebody else wrote, so a link
// is not followed, and only a regular file is written to.
func (l *logFile) open() error {
	f, err := os.OpenFile(l.name, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file: remove it", l.name)
	}
	if err != nil {
		f.Close()
		return err
	}
	l.f, l.size = f, info.Size()
	return nil
}

// path returns the name of the file; empty for none.
func (l *logFile) path() string {
	if l == nil {
		return ""
	}
	return l.name
}

// Write implements [io.Writer].
func (l *logFile) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.write(text)
	if l.err == nil {
		l.err = err
	}
	return n, err
}

// write writes text, into a new file if need be. l.mu must be held.
func (l *logFile) write(text []byte) (int, error) {
	if l.size > 0 && l.size+int64(len(text)) > maxLogFile {
		l.f.Close()
		if err := os.Rename(l.name, l.name+".1"); err != nil {
			return 0, err
		}
		if err := l.open(); err != nil {
			return 0, err
		}
	}
	n, err := l.f.Write(text)
	l.size += int64(n)
	return n, err
}

// failure returns why lines were lost; nil when none was.
func (l *logFile) failure() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
