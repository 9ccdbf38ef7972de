package child

import "syscall"

// attributes returns attributes that give a child a session of its own, and kill it when this
// program dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}
