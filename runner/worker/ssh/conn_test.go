package ssh

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/sshtest"
)

func TestTheEndOfAConnectionHasAReason(t *testing.T) {
	t.Parallel()
	n := sshtest.New(t)
	for name, test := range map[string]struct {
		args string
		end  func(*sshtest.Host, *Conn)
		says string
	}{
		"the network fails": {"", func(h *sshtest.Host, _ *Conn) { h.Cut() }, "the connection was lost; it said: Connection to 127.0.0.1 closed by remote host."},
		"the host fails":    {"", func(h *sshtest.Host, _ *Conn) { h.Kill() }, "the connection was lost"},
		"ssh is killed":     {"", func(_ *sshtest.Host, c *Conn) { c.command.Process.Kill() }, "the connection was lost: ssh on this machine ended by signal: killed"},
		"the program fails": {"fail", func(*sshtest.Host, *Conn) {}, "the program there ended with status 3; it said: panic: no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := n.Start(t, sshtest.Options{})
			c := dial(t, newDialer(t, n), h, strings.Fields(test.args)...)
			if test.args == "" {
				io.WriteString(c, "a\n")
				if got, err := bufio.NewReader(c).ReadString('\n'); got != "a\n" || err != nil {
					t.Fatalf("%q, %v", got, err)
				}
			}
			test.end(h, c)
			_, err := io.ReadAll(c)
			if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), test.says) || err.Error() != c.Err().Error() {
				t.Errorf("%v; %v", err, c.Err())
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			becomes(t, "nothing runs on the host", func() bool { return len(h.Processes()) == 0 })
		})
	}
}

func TestAHostComesBack(t *testing.T) {
	t.Parallel()
	n := sshtest.New(t)
	h, other := n.Start(t, sshtest.Options{}), n.Start(t, sshtest.Options{})
	d := newDialer(t, n)
	dial(t, d, h)
	dial(t, d, other)
	h.Kill()
	if running := h.Processes(); len(running) != 0 {
		t.Errorf("after its end the host runs %q", running)
	}
	if _, err := d.Dial(t.Context(), parse(t, h.Name), "host"); !errors.Is(err, ErrUnreachable) {
		t.Error(err)
	}
	if len(other.Processes()) == 0 {
		t.Error("the other host ended as well")
	}
	h.Restart(t)
	dial(t, d, h)
}

func TestCloseEndsAReadAndAProgramThatStays(t *testing.T) {
	t.Parallel()
	n := sshtest.New(t)
	h := n.Start(t, sshtest.Options{})
	d := newDialer(t, n)
	d.EndTime = 100 * time.Millisecond
	c := dial(t, d, h, "stay")
	if got, err := bufio.NewReader(c).ReadString('\n'); got != "here\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	ended := make(chan error)
	go func() { _, err := c.Read(make([]byte, 1)); ended <- err }()
	c.Close()
	if err := <-ended; err != io.EOF {
		t.Error(err)
	}
	if err := c.Err(); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "did not end within 100ms") {
		t.Error(err)
	}
	<-c.Done()
}

// TestSSHEndsWithThisProgram kills a program that has a connection.
func TestSSHEndsWithThisProgram(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a child with its parent")
	}
	n := sshtest.New(t)
	h := n.Start(t, sshtest.Options{})
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := exec.Command(binary, "dial", n.Client, script(t, onHost), h.Name)
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	program.Process.Kill()
	program.Wait()
	var ssh int
	if n, _ := fmt.Sscan(line, &ssh); n != 1 {
		t.Fatalf("%q, %v", line, err)
	}
	becomes(t, "ssh has ended", func() bool { return syscall.Kill(ssh, 0) != nil || isZombie(ssh) })
}

// isZombie reports whether a process has ended and nobody has waited for it.
func isZombie(pid int) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.Contains(string(stat), ") Z ")
}

// BenchmarkDial compares a connection with a bare ssh, where the program is there and where it is not.
func BenchmarkDial(b *testing.B) {
	n := sshtest.New(b)
	h := n.Start(b, sshtest.Options{})
	to, err := Parse(h.Name)
	if err != nil {
		b.Fatal(err)
	}
	d := newDialer(b, n)
	if d.Binary, err = os.Executable(); err != nil {
		b.Fatal(err)
	}
	bare := func() error { return exec.Command(n.Client, append(to.arguments(), "true")...).Run() }
	connect := func() error {
		c, err := d.Dial(b.Context(), to, "-test.run=none")
		if err != nil {
			return err
		}
		return c.Close()
	}
	upload := func() error {
		if err := os.RemoveAll(filepath.Join(h.Home, ".cache/symphony")); err != nil {
			return err
		}
		return connect()
	}
	if err := upload(); err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name string
		do   func() error
	}{{"bare", bare}, {"there", connect}, {"upload", upload}} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				if err := bench.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
