package door

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// waiting is a process that bubblewrap has made, and that waits to become the command.
type waiting struct {
	process *os.Process
	network uint64 // number of its network namespace

	// The network namespace, and the user namespace that owns it unless that is the one of this
	// program. The process may be in another one: for an ordinary user bubblewrap makes a second user
	// namespace within the owner. As both are open, nothing else can get their numbers.
	namespaces []*os.File
}

// readWaiting reads from the status of bubblewrap which process it has made.
func readWaiting(status io.Reader) (*waiting, error) {
	var made struct {
		PID     int    `json:"child-pid"`
		Network uint64 `json:"net-namespace"`
	}
	if err := json.NewDecoder(oneByte{status}).Decode(&made); err != nil {
		return nil, err
	}
	network, err := os.Open(filepath.Join("/proc", strconv.Itoa(made.PID), "ns/net"))
	if err != nil {
		return nil, err
	}
	w := &waiting{network: made.Network, namespaces: []*os.File{network}}
	if err := w.find(made.PID); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// find completes a value that has the number of its network and an open network namespace.
func (w *waiting) find(pid int) error {
	info, err := w.namespaces[0].Stat()
	if err != nil {
		return err
	}
	if number(info) != w.network {
		return fmt.Errorf("the process %d has the network namespace %d and not %d: %w", pid, number(info), w.network, errWrongPlace)
	}
	fd, _, failed := syscall.Syscall(syscall.SYS_IOCTL, w.namespaces[0].Fd(), getOwner, 0)
	if failed != 0 {
		return fmt.Errorf("the user namespace of a command: %w", failed)
	}
	owner := os.NewFile(fd, "owner")
	its, err := owner.Stat()
	if err != nil {
		owner.Close()
		return err
	}
	own, err := os.Stat("/proc/self/ns/user")
	if err != nil || os.SameFile(own, its) {
		owner.Close()
	} else {
		w.namespaces = append(w.namespaces, owner)
	}
	if err == nil {
		w.process, err = os.FindProcess(pid)
	}
	return err
}

// getOwner is NS_GET_USERNS of Linux: the request for the user namespace that owns another one.
const getOwner = 0xb701

var errWrongPlace = errors.New("the command has ended")

// close closes the namespaces.
func (w *waiting) close() {
	for _, file := range w.namespaces {
		file.Close()
	}
	if w.process != nil {
		_ = w.process.Release() // it is no child of this program
	}
}

// number returns the number of a namespace; 0 if it is none.
func number(info os.FileInfo) uint64 {
	stat, _ := info.Sys().(*syscall.Stat_t)
	if stat == nil {
		return 0
	}
	return stat.Ino
}

// hasEnded reports whether the other end of a pipe is closed. It reads what is in the pipe, and waits
// for nothing.
func hasEnded(pipe *os.File) bool {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return false
	}
	ended := false
	_ = raw.Read(func(fd uintptr) bool {
		n, err := 1, error(nil)
		for n > 0 && err == nil {
			n, err = syscall.Read(int(fd), make([]byte, maxCommand))
		}
		ended = n == 0 && err == nil
		return true
	})
	return ended
}

// oneByte reads one byte at a time, so that the decoder takes none of the next document.
type oneByte struct{ io.Reader }

func (r oneByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(1, len(p))]) }
