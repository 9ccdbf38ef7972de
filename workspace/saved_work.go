package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"syscall"
)

// workFolder is a folder of files that [Root.SaveWork] has written, and newWork the one
// that it is writing.
func workFolder(key string) string { return key + ".work" }
func newWork(key string) string    { return key + ".work-new" }

// SaveWork keeps the output of write as work beside a workspace, where its agent does not see
// it, until DropWork or until the workspace is removed. If write fails, nothing is kept, and
// its error is returned as it is. The number of the work is higher than all earlier numbers.
func (m *metadata) SaveWork(ws Workspace, write func(io.Writer) error) (number int, err error) {
	fail := func(err error) (int, error) {
		return 0, fmt.Errorf("save work of workspace %s: %w", ws.Path, err)
	}
	numbers, err := m.SavedWork(ws)
	if err != nil {
		return 0, err
	}
	number = 1
	if n := len(numbers); n > 0 {
		number = numbers[n-1] + 1
	}
	if err := m.folder.Load().MkdirAll(workFolder(ws.Key), 0o700); err != nil {
		return fail(err)
	}
	if err := m.folder.Load().RemoveAll(newWork(ws.Key)); err != nil {
		return fail(err)
	}
	f, err := m.folder.Load().OpenFile(newWork(ws.Key), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fail(err)
	}
	err = write(f)
	closed := f.Close()
	switch {
	case err != nil:
		_ = m.folder.Load().Remove(newWork(ws.Key)) // the next call does it
		return 0, err
	case closed != nil:
		return fail(closed)
	}
	if err := m.folder.Load().Rename(newWork(ws.Key), workFile(ws, number)); err != nil {
		return fail(err)
	}
	return number, nil
}

// SavedWork returns the numbers of the work that is kept beside a workspace, sorted.
func (m *metadata) SavedWork(ws Workspace) (numbers []int, err error) {
	entries, err := fs.ReadDir(m.folder.Load().FS(), workFolder(ws.Key))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("find the saved work of workspace %s: %w", ws.Path, err)
	}
	for _, entry := range entries {
		if n, err := strconv.Atoi(entry.Name()); err == nil && n > 0 && workFile(ws, n) == path.Join(workFolder(ws.Key), entry.Name()) {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// OpenWork opens work for reading. Its content is checked like a stream from the agent.
func (m *metadata) OpenWork(ws Workspace, number int) (io.ReadCloser, error) {
	f, err := m.folder.Load().OpenFile(workFile(ws, number), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		info, statErr := f.Stat()
		if err = statErr; err == nil && !info.Mode().IsRegular() {
			err = errors.New("it is not a file")
		}
		if err != nil {
			f.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open saved work of workspace %s: %w", ws.Path, err)
	}
	return f, nil
}

// DropWork deletes saved work.
func (m *metadata) DropWork(ws Workspace, numbers ...int) error {
	for _, number := range numbers {
		if err := m.folder.Load().RemoveAll(workFile(ws, number)); err != nil {
			return fmt.Errorf("drop saved work of workspace %s: %w", ws.Path, err)
		}
	}
	return nil
}

// workFile returns the path of saved work. Its name sorts by the number.
func workFile(ws Workspace, number int) string {
	return path.Join(workFolder(ws.Key), fmt.Sprintf("%06d", number))
}
