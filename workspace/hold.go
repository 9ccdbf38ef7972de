package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// holds are the workspaces in which this process works. A claim keeps the runs of one
// state apart; two projects on one machine can share a root and have issues of the same
// name. A hold is a lock of the operating system on a file that no sandboxed agent can open
// for writing: it ends with the process, and an agent that outlives it cannot keep it.
type holds struct {
	*metadata
	mu  sync.Mutex
	all map[string]*hold // keys are the keys of workspaces
}

// hold is the lock of one workspace.
type hold struct {
	file  *os.File // locked
	count int      // holders in this process
}

// hold takes the lock of a workspace, or notes one more holder in this process. The error
// is [ErrInUse] while another process has it.
func (h *holds) hold(ws Workspace) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if held := h.all[ws.Key]; held != nil {
		held.count++
		return nil
	}
	f, err := h.lock(ws)
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES):
		return fmt.Errorf("workspace %s: %w: another process works there: wait for its end; "+
			"if it belongs to another project, give each a workspace.root of its own", ws.Path, ErrInUse)
	case err != nil:
		return fmt.Errorf("lock workspace %s: %w", ws.Path, err)
	}
	h.all[ws.Key] = &hold{f, 1}
	return nil
}

// lock opens and locks the lock file of a workspace. Release in another process removes it; if
// that happens between opening and locking, lock begins again with a new file.
func (h *holds) lock(ws Workspace) (*os.File, error) {
	for {
		var f *os.File
		err := h.inFolder(func(folder *os.Root) (err error) {
			f, err = folder.OpenFile(lockFile(ws.Key), os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
			return err
		})
		if err != nil {
			return nil, err
		}
		whole := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
		if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &whole); err != nil {
			f.Close()
			return nil, err
		}
		locked, err1 := f.Stat()
		named, err2 := h.folder.Load().Lstat(lockFile(ws.Key))
		if err1 == nil && err2 == nil && os.SameFile(locked, named) {
			return f, nil
		}
		f.Close()
		if err := errors.Join(err1, err2); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// Release lets other processes work in a workspace that [Root.Begin] or [Root.Prepare]
// returned. It is called when nothing runs there any more.
func (h *holds) Release(ws Workspace) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.all[ws.Key]
	if held == nil {
		return
	}
	if held.count--; held.count == 0 {
		delete(h.all, ws.Key)
		_ = h.folder.Load().Remove(lockFile(ws.Key)) // one that stays is used again
		held.file.Close()
	}
}
