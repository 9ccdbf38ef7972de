package identity

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// askVariable makes this test binary a program that asks the channel which it names.
const askVariable = "IDENTITY_TEST_ASK"

func TestMain(m *testing.M) {
	if socket := os.Getenv(askVariable); socket != "" {
		token, err := Ask(socket)
		fmt.Println(token, err)
		return
	}
	os.Exit(m.Run())
}

// client returns the command of a process of this program that asks a channel.
func client(t *testing.T, c *Channel) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), askVariable+"="+c.Socket(), "GORACE=atexit_sleep_ms=0")
	return cmd
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// numbered returns a channel of numbered tokens. failing has the error of the next ones, if it is
// set to one.
func numbered(t *testing.T, failing *atomic.Pointer[error]) *Channel {
	t.Helper()
	n := 0
	c, err := Listen(NewSource(func(context.Context) (Token, error) {
		if err := failing.Load(); err != nil {
			return Token{}, *err
		}
		n++
		return newToken(fmt.Sprintf("tok-%d", n), time.Hour, time.Now())
	}, func(string) {}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestASessionGetsAnotherTokenEachTimeItAsks(t *testing.T) {
	t.Parallel()
	var failing atomic.Pointer[error]
	c := numbered(t, &failing)
	c.Serve(os.Getpid())
	for _, want := range []string{"tok-1 <nil>", "tok-2 <nil>"} {
		if got := output(t, client(t, c)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	disabled := fmt.Errorf("%w: the account is disabled", ErrRefused)
	failing.Store(&disabled)
	if got := output(t, client(t, c)); !strings.HasSuffix(got, disabled.Error()) || !errors.Is(c.Failed(), ErrRefused) {
		t.Errorf("got %q, %v", got, c.Failed())
	}
	failing.Store(nil)
	if got := output(t, client(t, c)); got != "tok-3 <nil>" || c.Failed() != nil || c.Stranger() != nil {
		t.Errorf("got %q, %v, %v", got, c.Failed(), c.Stranger())
	}
	for path, want := range map[string]os.FileMode{c.Dir: 0o700, c.Socket(): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	c.Close()
	if _, err := os.Stat(c.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
	if got := output(t, client(t, c)); !strings.Contains(got, "only while its session lasts") {
		t.Errorf("after the session: %q", got)
	}
}

func TestNobodyElseGetsAToken(t *testing.T) {
	t.Parallel()
	// elsewhere starts a client as the caller's child, in namespaces of its own.
	elsewhere := func(flags uintptr) func(*testing.T, *Channel) *exec.Cmd {
		return func(t *testing.T, c *Channel) *exec.Cmd {
			cmd := client(t, c)
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER | flags,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
			}
			return cmd
		}
	}
	for name, test := range map[string]struct {
		start func(*testing.T, *Channel) *exec.Cmd
		want  string
	}{
		"this program in a sandbox":    {elsewhere(syscall.CLONE_NEWNS | syscall.CLONE_NEWPID), "is in a sandbox"},
		"as another user of a sandbox": {elsewhere(0), "is in a sandbox"},
		"another program": {func(t *testing.T, c *Channel) *exec.Cmd {
			cmd, other := client(t, c), filepath.Join(t.TempDir(), "other")
			output(t, exec.CommandContext(t.Context(), "cp", cmd.Path, other))
			cmd.Path = other
			return cmd
		}, "is another program"},
		"a process of another session": {client, "was not started by the session"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := numbered(t, new(atomic.Pointer[error]))
			leader := os.Getpid()
			if name == "a process of another session" {
				leader = 1 << 30
			}
			c.Serve(leader)
			cmd := test.start(t, c)
			out, err := cmd.CombinedOutput()
			if err != nil && errors.Is(err, os.ErrPermission) {
				t.Skip("this machine lets nobody make namespaces")
			}
			if err != nil || !strings.Contains(string(out), "refused: only Codex gets it") || c.Stranger() == nil || !strings.Contains(c.Stranger().Error(), test.want) {
				t.Errorf("%v: %s; %v", err, out, c.Stranger())
			}
		})
	}
}
