package door

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/codextest"
)

const (
	greeting = "hello from behind the door"
	named    = "hosts:test" // the network of the tests
	longTime = time.Minute  // within which everything of a test ends
)

// sandbox are the options with which Codex starts bubblewrap, as far as they matter.
var sandbox = []string{"--as-pid-1", "--new-session", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-user", "--unshare-pid", "--unshare-net", "--proc", "/proc", "--cap-drop", "ALL", "--"}

// askHere is a piece of bash that prints what it is told at the address of the door.
const askHere = `exec 3<>/dev/tcp/127.0.0.1/61080 && cat <&3`

// house is doors with the real bubblewrap, which greet each connection and then wait for its end.
type house struct {
	*Doors
	t          testing.TB
	bubblewrap string

	mu     sync.Mutex
	failed []string
}

// newHouse returns doors that are not open yet. It skips the test where no sandbox can be made.
func newHouse(t testing.TB) *house {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has namespaces")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, bubblewrap: codextest.Bubblewrap(t)}
	if said, err := exec.Command(h.bubblewrap, append(sandbox, "/bin/true")...).CombinedOutput(); err != nil {
		t.Skipf("no sandbox can be made here: %v: %s", err, said)
	}
	h.Doors = &Doors{
		Dir: t.TempDir(), Self: self, Networks: map[string]map[int]Behind{named: {Port: greet}},
		Refused: func(network, command, host string) { t.Errorf("%s %s %s", network, command, host) },
		Failed: func(err error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.failed = append(h.failed, err.Error())
		},
	}
	return h
}

// greet greets each connection, and keeps it until the other end or the listener is closed.
func greet(l net.Listener, _ func(string)) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		all.Go(func() {
			defer context.AfterFunc(ctx, func() { c.Close() })()
			defer c.Close()
			fmt.Fprintln(c, greeting)
			_, _ = io.Copy(io.Discard, c) // until it ends
		})
	}
}

// opened returns doors that are open until the test ends.
func opened(t testing.TB) *house {
	t.Helper()
	h := newHouse(t)
	h.begin()
	return h
}

func (h *house) begin() {
	h.t.Helper()
	if err := h.Open(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { h.Close() })
}

// end closes the doors, and fails the test if that waits for the end of any time.
func (h *house) end() {
	h.t.Helper()
	began := time.Now()
	if err := h.Close(); err != nil {
		h.t.Error(err)
	}
	if d := time.Since(began); d > h.within/2 {
		h.t.Errorf("it takes %v", d)
	}
}

// failures returns the errors so far.
func (h *house) failures() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed
}

// mustFail fails the test unless there is one error, and it has a text.
func (h *house) mustFail(text string) {
	h.t.Helper()
	if failed := h.failures(); len(failed) != 1 || !strings.Contains(failed[0], text) {
		h.t.Errorf("%q, want one with %q", failed, text)
	}
}

// command is a command in a sandbox, or another program in its place.
type command struct {
	*exec.Cmd
	t   testing.TB
	in  io.WriteCloser
	out *bufio.Reader
}

// start starts a script in a sandbox with a door.
func (h *house) start(script string) *command {
	h.t.Helper()
	return h.startIn(named, h.enter(h.bubblewrap, inSandbox(script)...)...)
}

// inSandbox returns the arguments of bubblewrap for a script.
func inSandbox(script string) []string { return append(slices.Clone(sandbox), "bash", "-c", script) }

// enter returns the command line that becomes a program in the place of bubblewrap.
func (h *house) enter(bubblewrap string, args ...string) []string {
	return append([]string{h.Self, Name, enterWord, h.path(), bubblewrap}, args...)
}

// startIn starts a command line for a network.
func (h *house) startIn(network string, line ...string) *command {
	h.t.Helper()
	c := &command{Cmd: exec.Command(line[0], line[1:]...), t: h.t}
	c.Env = []string{Variable + "=" + network, "PATH=" + os.Getenv("PATH")}
	in, inErr := c.StdinPipe()
	out, outErr := c.StdoutPipe()
	if inErr != nil || outErr != nil {
		h.t.Fatal(inErr, outErr)
	}
	c.in, c.out = in, bufio.NewReader(out)
	if err := c.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { // if the test has not come to its end
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c
}

// line returns the next line that the command prints; "" at its end.
func (c *command) line() string {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil && err != io.EOF {
		c.t.Error(err)
	}
	return strings.TrimSuffix(line, "\n")
}

// mustSay fails the test unless the command prints these lines next.
func (c *command) mustSay(lines ...string) {
	c.t.Helper()
	for _, want := range lines {
		if got := c.line(); got != want {
			c.t.Errorf("it says %q, want %q", got, want)
		}
	}
}

// kill kills bubblewrap.
func (c *command) kill() {
	c.t.Helper()
	if err := c.Process.Kill(); err != nil {
		c.t.Error(err)
	}
}

// next serves the next command by itself, in place of Open, and returns a channel that is closed
// when its door is.
func (h *house) next() <-chan struct{} {
	h.t.Helper()
	if h.nsenter == "" {
		path, err := exec.LookPath("nsenter")
		if err != nil {
			h.t.Skip(err)
		}
		h.nsenter = path
	}
	h.within = longTime
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: h.path(), Net: "unix"})
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		defer socket.Close()
		if connection, err := socket.AcceptUnix(); err == nil {
			h.serve(ctx, connection)
		}
	}()
	h.t.Cleanup(func() {
		cancel()
		socket.Close()
		<-closed
	})
	return closed
}

// script writes a program, and returns its path.
func script(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
