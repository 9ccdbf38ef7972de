package ssh

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestSSHOutlivesTheThreadOfItsStart opens a connection on a thread that ends, as one does whose goroutine is locked
// to it.
func TestSSHOutlivesTheThreadOfItsStart(t *testing.T) {
	t.Parallel()
	var c *Conn
	var err error
	opened := make(chan struct{})
	var thread int
	go func() {
		defer close(opened)
		runtime.LockOSThread()
		thread = syscall.Gettid()
		c, err = open(Host{Name: "h"}, newMark(), exec.Command("cat"), time.Minute, slog.New(slog.DiscardHandler))
	}()
	if <-opened; err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if thread == os.Getpid() {
		t.Skip("the first thread never ends")
	}
	becomes(t, "the thread has ended", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread))
		return err != nil
	})
	if _, err := io.WriteString(c, "x"); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("%d bytes (%v)", n, err)
	}
}
