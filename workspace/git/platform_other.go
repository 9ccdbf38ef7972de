//go:build unix && !linux

package git

import "syscall"

// childProcAttr returns attributes that give a child a session of its own. If we are
// killed, git ends when it finds its input or output closed.
func childProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
