//go:build unix && !linux

package child

import "syscall"

// attributes returns attributes that give a child a session of its own. When this program dies, a
// child ends as soon as it finds its input or output closed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
