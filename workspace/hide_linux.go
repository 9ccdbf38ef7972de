package workspace

import (
	"fmt"
	"syscall"
)

// HideFromChildren makes this process unreadable for other processes of the
// same user, children too: its environment, memory and open files in /proc, and
// ptrace (prctl(2), PR_SET_DUMPABLE). Children are readable again once they run
// a program of their own. Call it before the first child starts. The superuser
// still reads everything.
func HideFromChildren() error {
	const setDumpable = 4
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0); errno != 0 {
		return fmt.Errorf("hide this process from its children: prctl: %w", errno)
	}
	return nil
}
