package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestALogFileStaysBoundedAndKeepsTheOneBefore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), ".symphony")
	line := strings.Repeat("x", 1<<20-1) + "\n"
	for range 2 { // a second run continues the file
		l, err := openLogFile(dir)
		if err != nil {
			t.Fatal(err)
		}
		for range 6 {
			if _, err := l.Write([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		l.f.Close()
	}
	for name, want := range map[string]int64{"symphony.log": 2, "symphony.log.1": 10} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() != want<<20 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %d bytes, %v", name, info.Size(), info.Mode())
		}
	}
}

func TestALogFileSaysThatLinesAreLost(t *testing.T) {
	t.Parallel()
	l, err := openLogFile(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write([]byte("kept\n")); err != nil || l.failure() != nil {
		t.Fatal(err, l.failure())
	}
	l.f.Close() // as a disk that fails
	if _, err := l.Write([]byte("lost\n")); err == nil || l.failure() == nil {
		t.Errorf("the write says %v, and later %v", err, l.failure())
	}
}

// The folder may come with a repository of somebody else.
func TestALogFileIsNeverWrittenThroughALinkOrToWhatIsNoFile(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(dir, path string) error{
		"a link":   func(dir, path string) error { return os.Symlink(filepath.Join(dir, "profile"), path) },
		"a pipe":   func(_, path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder": func(_, path string) error { return os.Mkdir(path, 0o700) },
	} {
		dir := t.TempDir()
		if err := plant(dir, filepath.Join(dir, "symphony.log")); err != nil {
			t.Fatal(err)
		}
		if l, err := openLogFile(dir); err == nil {
			t.Errorf("%s: opened", name)
			l.f.Close()
		}
		if _, err := os.Stat(filepath.Join(dir, "profile")); err == nil {
			t.Errorf("%s: the target was made", name)
		}
	}
}

func TestALogFileIsNeverMadeInAFolderThatIsALink(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	folder := filepath.Join(dir, ".symphony")
	if err := os.Symlink(outside, folder); err != nil {
		t.Fatal(err)
	}
	if l, err := openLogFile(folder); err == nil {
		l.f.Close()
		t.Error("opened")
	} else if !strings.Contains(err.Error(), folder+" is a link") {
		t.Error(err)
	}
	if made, err := os.ReadDir(outside); err != nil || len(made) > 0 {
		t.Errorf("it made %v (%v)", made, err)
	}
}
