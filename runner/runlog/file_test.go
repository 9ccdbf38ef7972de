package runlog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestALogFileStaysBoundedAndKeepsTheOneBefore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), ".symphony")
	line := strings.Repeat("x", 1<<20-1) + "\n"
	for range 2 { // a second run continues the file
		l, err := OpenFile(dir)
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
	l, err := OpenFile(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write([]byte("kept\n")); err != nil || l.Failure() != nil {
		t.Fatal(err, l.Failure())
	}
	l.f.Close() // as a disk that fails
	if _, err := l.Write([]byte("lost\n")); err == nil || l.Failure() == nil {
		t.Errorf("the write says %v, and later %v", err, l.Failure())
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
		if l, err := OpenFile(dir); err == nil {
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
	if l, err := OpenFile(folder); err == nil {
		l.f.Close()
		t.Error("opened")
	} else if !strings.Contains(err.Error(), folder+" is a link") {
		t.Error(err)
	}
	if made, err := os.ReadDir(outside); err != nil || len(made) > 0 {
		t.Errorf("it made %v (%v)", made, err)
	}
}

// logLines writes lines of a megabyte, numbered from first to last, and alternates between
// the logs.
func logLines(t *testing.T, first, last int, logs ...*File) {
	t.Helper()
	for n := first; n <= last; n++ {
		if _, err := fmt.Fprintf(logs[n%len(logs)], "%02d%s\n", n, strings.Repeat("x", 1<<20-3)); err != nil {
			t.Fatal(err)
		}
	}
}

// loggedIn returns the numbers of the lines of a log in their order, and a ! for each other
// line.
func loggedIn(t *testing.T, path string) (numbers string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if len(line) == 1<<20 {
			numbers += line[:2] + " "
		} else {
			numbers += "! "
		}
	}
	return strings.TrimSpace(numbers)
}

func openLogs(t *testing.T, dir string, n int) (logs []*File) {
	t.Helper()
	for range n {
		l, err := OpenFile(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.f.Close() })
		logs = append(logs, l)
	}
	return logs
}

func TestALogThatCannotBeginANewFileGoesOnAndSaysSoOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "symphony.log")
	if err := os.MkdirAll(name+".1/taken", 0o700); err != nil {
		t.Fatal(err)
	}
	l := openLogs(t, dir, 1)[0]
	logLines(t, 1, 10, l)
	if l.StuckAt() != nil {
		t.Error(l.StuckAt())
	}
	logLines(t, 11, 13, l)
	if got := loggedIn(t, name); got != "01 02 03 04 05 06 07 08 09 10 ! 11 12 13" {
		t.Error(got)
	}
	if text, err := os.ReadFile(name); err != nil || !strings.Contains(string(text), Unbounded) || l.Failure() != nil || l.StuckAt() == nil {
		t.Errorf("%v, %v, %v", err, l.Failure(), l.StuckAt())
	}
	if err := os.RemoveAll(name + ".1"); err != nil {
		t.Fatal(err)
	}
	logLines(t, 14, 16, l) // the way is free
	if got := loggedIn(t, name); !strings.HasSuffix(got, "16") || strings.Contains(got, "01") || strings.Contains(got, "!") {
		t.Error(got)
	}
}

func TestTwoRunsThatWriteOneLogKeepEachOthersLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	logLines(t, 1, 24, openLogs(t, dir, 2)...)
	for name, want := range map[string]string{"symphony.log.1": "11 12 13 14 15 16 17 18 19 20", "symphony.log": "21 22 23 24"} {
		if got := loggedIn(t, filepath.Join(dir, name)); got != want {
			t.Errorf("%s has %s", name, got)
		}
	}
}

func TestRunsThatWriteOneLogAtOnceLoseNoLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	for i, l := range openLogs(t, dir, 3) {
		all.Go(func() { logLines(t, 10+5*i, 14+5*i, l) })
	}
	all.Wait()
	got := strings.Fields(loggedIn(t, filepath.Join(dir, "symphony.log")) + " " + loggedIn(t, filepath.Join(dir, "symphony.log.1")))
	slices.Sort(got)
	if want := "10 11 12 13 14 15 16 17 18 19 20 21 22 23 24"; strings.Join(got, " ") != want {
		t.Error(got)
	}
}

func TestALogThatAPersonRemovesIsBegunAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openLogs(t, dir, 1)[0]
	logLines(t, 1, 1, l)
	if err := os.Remove(l.name); err != nil {
		t.Fatal(err)
	}
	logLines(t, 2, 2, l)
	if got := loggedIn(t, l.name); got != "02" {
		t.Error(got)
	}
}
