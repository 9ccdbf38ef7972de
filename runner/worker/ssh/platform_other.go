//go:build unix && !linux

package ssh

import (
	"os"
	"syscall"
)

// childAttributes returns attributes that give ssh a session of its own, so that it has no terminal to ask
// and is killed with all that it started.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// ownProgram returns the path of the executable of this process.
func ownProgram() (string, error) { return os.Executable() }
