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
	mu  sync.Mutex
	all map[string]*hold // by key
}

// hold is the lock of one workspace.
type hold struct {
	file  *os.File // locked
	count int      // holders in this process
}

// hold takes the lock of a workspace, or notes one more holder in this process. The error
// is [ErrInUse] while another process has it.
func (r *Root) hold(ws Workspace) error {
	r.holds.mu.Lock()
	defer r.holds.mu.Unlock()
	if h := r.holds.all[ws.Key]; h != nil {
		h.count++
		return nil
	}
	f, err := r.lock(ws)
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES):
		return fmt.Errorf("workspace %s: %w: another process works there: wait for its end; "+
			"if it belongs to another project, give each a workspace.root of its own", ws.Path, ErrInUse)
	case err != nil:
		return fmt.Errorf("lock workspace %s: %w", ws.Path, err)
	}
	if r.holds.all == nil {
		r.holds.all = map[string]*hold{}
	}
	r.holds.all[ws.Key] = &hold{f, 1}
	return nil
}

// lock opens and locks the lock file of a workspace. Release in another process removes it; if
// that happens between opening and locking, lock begins again with a new file.
func (r *Root) lock(ws Workspace) (*os.File, error) {
	for {
		f, err := r.openLock(ws)
		if err != nil {
			return nil, err
		}
		whole := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
		if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &whole); err != nil {
			f.Close()
			return nil, err
		}
		locked, err1 := f.Stat()
		named, err2 := r.metadata.Load().Lstat(lockFile(ws.Key))
		if err1 == nil && err2 == nil && os.SameFile(locked, named) {
			return f, nil
		}
		f.Close()
		if err := errors.Join(err1, err2); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// openLock opens the lock file of a workspace. If somebody has removed the folder of
// metadata, it makes a new one.
func (r *Root) openLock(ws Workspace) (*os.File, error) {
	const flags = os.O_RDWR | os.O_CREATE | syscall.O_NONBLOCK
	f, err := r.metadata.Load().OpenFile(lockFile(ws.Key), flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = r.openMetadata(); err == nil {
			f, err = r.metadata.Load().OpenFile(lockFile(ws.Key), flags, 0o600)
		}
	}
	return f, err
}

// Release lets other processes work in a workspace that [Root.Begin] or [Root.Prepare]
// returned. It is called when nothing runs there any more.
func (r *Root) Release(ws Workspace) {
	r.holds.mu.Lock()
	defer r.holds.mu.Unlock()
	h := r.holds.all[ws.Key]
	if h == nil {
		return
	}
	if h.count--; h.count == 0 {
		delete(r.holds.all, ws.Key)
		_ = r.metadata.Load().Remove(lockFile(ws.Key)) // one that stays is used again
		h.file.Close()
	}
}
