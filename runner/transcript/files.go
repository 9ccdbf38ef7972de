package transcript

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	suffix   = ".jsonl"
	timeForm = "20060102T150405.000Z" // sorts by time
	// keyLetters are the characters of a workspace key.
	keyLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

	ignoreAll = "*\n" // content of a .gitignore: nobody publishes a log by accident
)

// Name returns the file of a session below the folder of logs. key is the workspace key
// of the issue.
func Name(key string, began time.Time, number int) string {
	return fmt.Sprintf("%s/%s-%d%s", key, began.UTC().Format(timeForm), number, suffix)
}

// File is a log below a folder of logs.
type File struct {
	Path   string // path with slashes
	Key    string // the workspace key of the issue
	Began  time.Time
	Number int // number of the session on the issue
	Size   int64
}

// parseName returns the log with a name. It also checks the key, because somebody else may have
// written the folder: people read the key on a terminal.
func parseName(key, name string) (File, bool) {
	if strings.Trim(key, keyLetters) != "" {
		return File{}, false
	}
	began, number, _ := strings.Cut(strings.TrimSuffix(name, suffix), "-")
	at, err := time.Parse(timeForm, began)
	n, wrong := strconv.Atoi(number)
	f := File{Path: path.Join(key, name), Key: key, Began: at, Number: n}
	return f, err == nil && wrong == nil && Name(key, at, n) == f.Path
}

// List returns the logs below a folder of logs, the oldest first. It skips everything
// except regular files with the name of a log. A folder that does not exist has none. With
// an error, which names the folders that cannot be read, the logs of all others are returned.
func List(folder fs.FS) ([]File, error) {
	keys, err := fs.ReadDir(folder, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []File
	var failed []error
	for _, key := range keys {
		if key.IsDir() {
			files, err := listUnsorted(folder, key.Name())
			all, failed = append(all, files...), append(failed, err)
		}
	}
	sortFiles(all)
	return all, errors.Join(failed...)
}

// ListOf returns the logs of the issue with a workspace key, as [List] does.
func ListOf(folder fs.FS, key string) ([]File, error) {
	if strings.Trim(key, keyLetters) != "" || !fs.ValidPath(key) || key == "." {
		return nil, nil
	}
	files, err := listUnsorted(folder, key)
	sortFiles(files)
	return files, err
}

func sortFiles(files []File) {
	slices.SortStableFunc(files, func(a, b File) int { return a.Began.Compare(b.Began) })
}

// listUnsorted returns the logs of one issue. A log that is pruned meanwhile is no error.
func listUnsorted(folder fs.FS, key string) ([]File, error) {
	entries, err := fs.ReadDir(folder, key)
	if err != nil {
		return nil, unlessGone(err)
	}
	var files []File
	for _, entry := range entries {
		f, ok := parseName(key, entry.Name())
		if !ok || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			if unlessGone(err) != nil {
				return files, err
			}
			continue
		}
		f.Size = info.Size()
		files = append(files, f)
	}
	return files, nil
}

// unlessGone returns an error unless it says that a file is not there.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// CheckFolder returns an error if a folder of logs, or the one above it, is a link or no
// folder. It is for a folder that may come with the repository of somebody else: a link
// would lead out of it.
func CheckFolder(folder string) error {
	for _, name := range []string{path.Dir(folder), folder} {
		info, err := os.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is a link, or not a folder: remove it", name)
		}
	}
	return nil
}

// Create makes the log of a name that [Name] returned, and locks it until it is closed: it
// waits while somebody else asks whether it is locked, which takes no time.
// It makes the folders that are missing. No link leads it out of the folder.
func Create(folder, name string) (*os.File, error) {
	if err := os.MkdirAll(path.Dir(folder), 0o700); err != nil {
		return nil, err
	}
	made := os.Mkdir(folder, 0o700)
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat(".gitignore")
	unfinished := err == nil && info.Mode().IsRegular() && info.Size() == 0 // a full disk, or the end of the program, came before the text
	if made == nil || unfinished {
		if err := root.WriteFile(".gitignore", []byte(ignoreAll), 0o600); err != nil {
			if made == nil {
				_ = os.Remove(folder) // if it is empty, the next session makes both
			}
			return nil, err
		}
	}
	f, err := createIn(root, name)
	for tries := 1; tries < 100 && errors.Is(err, fs.ErrNotExist); tries++ { // another process pruned the folder at this instant
		f, err = createIn(root, name)
	}
	if err != nil {
		return nil, err
	}
	_ = flock(f, syscall.LOCK_EX) // only an unusual file system has no locks
	return f, nil
}

// createIn makes a new file, and the folder that it is in unless that is there.
func createIn(root *os.Root, name string) (*os.File, error) {
	if err := root.Mkdir(path.Dir(name), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
}

// IsBeingWritten reports whether the session of an open log runs.
func IsBeingWritten(f *os.File) bool {
	err := flock(f, syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		_ = flock(f, syscall.LOCK_UN) // closing it does the same
	}
	return errors.Is(err, syscall.EWOULDBLOCK)
}

// flock calls flock(2) until no signal interrupts it. The lock ends with its process.
func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Open opens a log that [List] returned. No link leads it out of the folder.
func Open(folder, name string) (*os.File, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return openIn(root, name)
}

// openIn opens a log for reading. It does not wait for a named pipe.
func openIn(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("not a regular file")}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// PageName returns the file of the page of a log.
func PageName(name string) string { return strings.TrimSuffix(name, suffix) + ".html" }

// WritePageOf writes the page of a log beside it, and reports whether it did: a log that
// has a page, or that is being written, gets none. A process that is killed meanwhile leaves
// no page.
func WritePageOf(folder, name string, redact func(string) string) (wrote bool, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return false, err
	}
	defer root.Close()
	path := PageName(name)
	if _, err := root.Lstat(path); err == nil {
		return false, nil
	}
	log, err := openIn(root, name)
	if err != nil {
		return false, err
	}
	defer log.Close()
	if IsBeingWritten(log) {
		return false, nil
	}
	temp := path + ".tmp"
	page, err := root.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return false, err
	}
	if err := errors.Join(CopyPage(page, log, false, redact), page.Close()); err != nil {
		return false, errors.Join(err, root.Remove(temp))
	}
	return true, root.Rename(temp, path)
}

// Limits bounds the logs that are kept below a folder.
type Limits struct {
	Sessions int           // logs of one issue
	Bytes    int64         // bytes of all logs and pages
	Age      time.Duration // time since the session began
}

// Prune removes logs, the oldest first, until the rest is within the limits. It never
// removes one that is being written. A folder that does not exist is not an error, one
// that [CheckFolder] refuses is.
func Prune(folder string, l Limits, now time.Time) error {
	if err := CheckFolder(folder); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	files, err := List(root.FS())
	failed := []error{err}
	var bytes int64
	sessions := map[string]int{}
	for i, f := range files {
		if page, err := root.Lstat(PageName(f.Path)); err == nil { // it is removed with its log
			f.Size += page.Size()
			files[i] = f
		}
		bytes += f.Size
		sessions[f.Key]++
	}
	for _, f := range files {
		if now.Sub(f.Began) <= l.Age && sessions[f.Key] <= l.Sessions && bytes <= l.Bytes {
			continue
		}
		removed, err := removeIdle(root, f)
		if removed {
			bytes -= f.Size
			sessions[f.Key]--
			if sessions[f.Key] == 0 {
				_ = root.Remove(f.Key) // unless something else is there
			}
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// removeIdle removes a log, and its page if it has one, unless the log is being written. It
// reports whether it did.
func removeIdle(root *os.Root, f File) (removed bool, err error) {
	open, err := openIn(root, f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // another process was faster
	}
	if err != nil {
		return false, err
	}
	defer open.Close()
	if IsBeingWritten(open) {
		return false, nil
	}
	if err := root.Remove(PageName(f.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err // the log stays, so that the page is found again
	}
	err = root.Remove(f.Path)
	return err == nil, err
}
