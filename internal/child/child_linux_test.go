package child_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/symphony-runner/symphony/internal/child"
)

// TestAChildOutlivesTheThreadOfItsStart starts a program on a thread that ends, as one does whose
// goroutine is locked to it.
func TestAChildOutlivesTheThreadOfItsStart(t *testing.T) {
	t.Parallel()
	in, input, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	cmd := exec.Command("cat")
	var output strings.Builder
	cmd.Stdin, cmd.Stdout = in, &output
	type result struct {
		wait   func() error
		err    error
		thread int
	}
	begun := make(chan result)
	go func() {
		runtime.LockOSThread()
		wait, err := child.Start(cmd)
		begun <- result{wait, err, syscall.Gettid()}
	}()
	r := <-begun
	if in.Close(); r.err != nil {
		t.Fatal(r.err)
	}
	if r.thread == os.Getpid() {
		t.Skip("the first thread never ends")
	}
	for syscall.Tgkill(os.Getpid(), r.thread, 0) == nil {
		runtime.Gosched()
	}
	if group, err := syscall.Getpgid(cmd.Process.Pid); group != cmd.Process.Pid {
		t.Errorf("it is in the process group %d (%v)", group, err)
	}
	if _, err := io.WriteString(input, "x"); err != nil {
		t.Fatal(err)
	}
	input.Close()
	if err := r.wait(); err != nil || output.String() != "x" {
		t.Errorf("%q (%v)", output.String(), err)
	}
}

func TestAProgramThatCannotStartIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	if wait, err := child.Start(exec.Command("/no/such/program")); wait != nil || !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
