package git

import "syscall"

// childProcAttr returns attributes that give a child a session of its own and kill it
// when we die.
func childProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}
