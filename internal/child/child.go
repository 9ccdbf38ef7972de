// Package child starts the programs that may not outlive this one: shells, git and ssh. Each has a
// session of its own, so it finds no terminal to ask, and all that it starts can be signaled by its
// process group.
package child

import (
	"os/exec"
	"runtime"
)

// Start starts a program, and returns a function that waits for its end and returns the error of
// [exec.Cmd.Wait]. The caller must call it once. On Linux the kernel kills the program when the
// thread that started it ends. So it has a thread that lasts as long; to wait takes one anyway.
func Start(cmd *exec.Cmd) (wait func() error, err error) {
	cmd.SysProcAttr = attributes()
	started, ended := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return func() error { return <-ended }, nil
}
