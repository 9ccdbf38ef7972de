package ssh

import "syscall"

// childAttributes returns attributes that give ssh a session of its own, so that it has no terminal to ask
// and is killed with all that it started, and end it with this program.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// ownProgram returns the path of the executable of this process, also after another version was installed
// in its place.
func ownProgram() (string, error) { return "/proc/self/exe", nil }
