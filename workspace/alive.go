package workspace

import (
	"errors"
	"syscall"
)

// Alive reports whether a process of this machine exists, whosever it is.
func Alive(pid int) bool {
	if pid <= 0 {
		return false // not a process but a group, for the system
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
