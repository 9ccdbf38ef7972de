//go:build unix && !linux

package git

import (
	"context"
	"syscall"
)

// childProcAttr returns attributes that give a child a session of its own. If we are
// killed, git ends when it finds its input or output closed.
func childProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// ownMark returns a variable for the children of this process.
func (e *engine) ownMark() string { return "SYMPHONY_GIT=" + e.dir }

// endLeft does nothing: there is no /proc in which to find processes.
func (e *engine) endLeft(context.Context) {}
