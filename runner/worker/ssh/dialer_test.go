package ssh

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/sshtest"
)

// newDialer returns a dialer in a network.
func newDialer(t testing.TB, n *sshtest.Network) *Dialer {
	t.Helper()
	return &Dialer{Program: n.Client, Binary: script(t, onHost), Env: os.Environ(), Log: slog.New(slog.DiscardHandler)}
}

func parse(t *testing.T, text string) Host {
	t.Helper()
	h, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return h
}

// dial connects to a host until the test ends.
func dial(t *testing.T, d *Dialer, h *sshtest.Host, args ...string) *Conn {
	t.Helper()
	c, err := d.Dial(t.Context(), parse(t, h.Name), append([]string{"host"}, args...)...)
	if err != nil {
		t.Fatalf("%v; sshd: %s", err, h.Log())
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// becomes waits until a condition holds.
func becomes(t *testing.T, condition string, holds func() bool) {
	t.Helper()
	late := time.After(20 * time.Second)
	for !holds() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-late:
			t.Fatal("never: " + condition)
		}
	}
}

func TestAConnectionLeadsToTheProgramOnTheHost(t *testing.T) {
	t.Parallel()
	n := sshtest.New(t)
	h := n.Start(t, sshtest.Options{Banner: "No entry\n", Profile: "echo hello; echo there >&2; head -c 100000 /dev/zero; printf half"})
	d := newDialer(t, n)
	log := new(bytes.Buffer)
	d.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	text := strings.Repeat(strings.Repeat("x", 99)+"\n", 20_000)
	for range 2 {
		c := dial(t, d, h)
		go io.WriteString(c, text)
		got := make([]byte, len(text))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
			t.Errorf("%.100q, %v", got, err)
		}
		if err := errors.Join(c.Close(), c.Close(), c.Err()); err != nil {
			t.Error(err)
		}
		if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("after the end: %d, %v", n, err)
		}
		if _, err := c.Write([]byte("x")); err == nil {
			t.Error("wrote after the end")
		}
	}
	if uploads := strings.Count(log.String(), "program uploaded"); uploads != 1 || !strings.Contains(log.String(), "line=there") {
		t.Errorf("%d uploads: %s", uploads, log)
	}
	becomes(t, "nothing runs on the host", func() bool { return len(h.Processes()) == 0 })
}

func TestTwoProgramsUploadAtTheSameTime(t *testing.T) {
	t.Parallel()
	n := sshtest.New(t)
	h := n.Start(t, sshtest.Options{})
	var dials sync.WaitGroup
	for _, d := range []*Dialer{newDialer(t, n), newDialer(t, n)} {
		for range 2 {
			dials.Go(func() {
				c, err := d.Dial(t.Context(), parse(t, h.Name), "host")
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				io.WriteString(c, "a\n")
				if got, err := bufio.NewReader(c).ReadString('\n'); got != "a\n" || err != nil {
					t.Errorf("%q, %v", got, err)
				}
			})
		}
	}
	dials.Wait()
	if left := names(t, h.Home); strings.Contains(left, " ") || !strings.HasPrefix(left, "symphony-") {
		t.Errorf("in the folder are %s", left)
	}
}

// TestNoSettingOfSSHSendsMore has settings of a person that forward and send all there is.
func TestNoSettingOfSSHSendsMore(t *testing.T) {
	t.Parallel()
	n := sshtest.New(t)
	h := n.Start(t, sshtest.Options{Profile: `echo "args=$SSH_ORIGINAL_COMMAND" >>$HOME/args`})
	touched := filepath.Join(t.TempDir(), "touched")
	agent := listen(t, "unix", filepath.Join(t.TempDir(), "agent"), func(c net.Conn) { c.Close() })
	taken := listen(t, "tcp", "127.0.0.1:0", func(net.Conn) {})
	n.Configure(t, "SendEnv *\nForwardAgent yes\nForwardX11 yes\nRequestTTY force\nRemoteCommand false\nPermitLocalCommand yes\nLocalCommand touch "+touched+
		"\nControlMaster auto\nControlPersist yes\nControlPath "+touched+"\nLocalForward "+taken+" 127.0.0.1:1\nExitOnForwardFailure yes\n")
	d := newDialer(t, n)
	d.Env = append(d.Env, "SYMPHONY_SECRET=s3cret", "OPENAI_API_KEY=s3cret", "LANG=C.UTF-8", "SSH_AUTH_SOCK="+agent, "DISPLAY=:9", "SSH_ASKPASS=/no/such")
	c := dial(t, d, h, "env")
	env, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(env)) {
		name, _, _ := strings.Cut(line, "=")
		if !slices.Contains(append(passed, "MAIL", "SHLVL", "PWD", "OLDPWD", "_", "SSH_CLIENT", "SSH_CONNECTION", "SSH_ORIGINAL_COMMAND", "XDG_CACHE_HOME", "SYMPHONY_SSHTEST", "LD_LIBRARY_PATH"), name) {
			t.Errorf("the program there has %s", line)
		}
		if name == "SSH_AUTH_SOCK" && line != name+"="+agent+"\n" { // SendEnv sends ours
			t.Errorf("the agent is forwarded as %s", line)
		}
	}
	args, err := os.ReadFile(filepath.Join(h.Home, "args"))
	if all := string(env) + string(args) + fmt.Sprint(c.command.Args, c.command.Env); err != nil || strings.Contains(all, "s3cret") || !strings.Contains(all, "LANG=C.UTF-8") {
		t.Errorf("%v: %s", err, all)
	}
	if _, err := os.Lstat(touched); err == nil {
		t.Error("a local command or a master ran")
	}
}

func TestAnAliasLeadsOverAnotherHost(t *testing.T) {
	t.Parallel()
	n := sshtest.New(t)
	gate, inner := n.Start(t, sshtest.Options{}), n.Start(t, sshtest.Options{})
	for alias, to := range map[string]Host{"gate": parse(t, gate.Name), "inner\nProxyJump gate": parse(t, inner.Name)} {
		n.Configure(t, fmt.Sprintf("Host %s\nHostName %s\nPort %d\nUser %s\n", alias, to.Name, to.Port, to.User))
	}
	c, err := newDialer(t, n).Dial(t.Context(), Host{Name: "inner"}, "host")
	if err != nil {
		t.Fatalf("%v; sshd: %s%s", err, gate.Log(), inner.Log())
	}
	defer c.Close()
	io.WriteString(c, "a\n")
	if got, err := bufio.NewReader(c).ReadString('\n'); got != "a\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	gate.Kill()
	if _, err := io.ReadAll(c); !errors.Is(err, ErrUnreachable) {
		t.Error(err)
	}
}

// listen returns the address of a listener that treats each connection.
func listen(t *testing.T, network, address string, treat func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			treat(c)
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return l.Addr().String()
}

// saying returns a listener that says something to each connection.
func saying(text string) func(*testing.T, *sshtest.Network) string {
	return func(t *testing.T, _ *sshtest.Network) string {
		return listen(t, "tcp", "127.0.0.1:0", func(c net.Conn) { io.WriteString(c, text) })
	}
}

// with returns a host with some options.
func with(o sshtest.Options) func(*testing.T, *sshtest.Network) string {
	return func(t *testing.T, n *sshtest.Network) string { return n.Start(t, o).Name }
}

// readOnly and noExec are lines that mount the home folder.
const (
	readOnly = "mount --bind $HOME $HOME; mount -o remount,bind,ro $HOME"
	noExec   = "mount --bind $HOME $HOME; mount -o remount,bind,noexec $HOME"
)

func TestEachFailureNamesItsRemedy(t *testing.T) {
	t.Parallel()
	n := sshtest.New(t)
	patient := func(*Dialer) {}
	for name, test := range map[string]struct {
		host func(*testing.T, *sshtest.Network) string
		kind error
		says string // a regular expression
		time func(*Dialer)
	}{
		"an unknown name": {func(*testing.T, *sshtest.Network) string { return "no-such.invalid" }, ErrUnreachable, "compare it with ~/.ssh/config and the DNS", patient},
		"nobody listens": {func(t *testing.T, _ *sshtest.Network) string {
			l, _ := net.Listen("tcp", "127.0.0.1:0")
			defer l.Close()
			return l.Addr().String()
		}, ErrUnreachable, "start sshd there, or correct the port; ssh says: .*Connection refused", patient},
		"no answer":      {saying(""), ErrUnreachable, "compare the port", func(d *Dialer) { d.ConnectTime = time.Second }},
		"another server": {saying("\x00\x01\x02\r\n"), ErrUnreachable, "compare the port", patient},
		"a hanging sshd": {saying("SSH-2.0-x\r\n"), ErrUnreachable, "nothing has run there within 1s: sshd or the agent hangs", func(d *Dialer) { d.StartTime = time.Second }},
		"a closing sshd": {func(t *testing.T, _ *sshtest.Network) string {
			return listen(t, "tcp", "127.0.0.1:0", func(c net.Conn) { c.Close() })
		}, ErrUnreachable, "MaxStartups", patient},
		"an unknown key":    {with(sshtest.Options{Unknown: true}), ErrRefused, `run .ssh -p \d+ \w+@127.0.0.1. once and compare the fingerprint; ssh says: No ED25519 host key is known`, patient},
		"a key not taken":   {with(sshtest.Options{Closed: true}), ErrRefused, "load the key into the agent .*; ssh says: .*Permission denied", patient},
		"a slow profile":    {with(sshtest.Options{Profile: "echo waiting for a lock; sleep 100"}), ErrUnreachable, "a login profile is slow .* it said: waiting for a lock", func(d *Dialer) { d.StartTime = 3 * time.Second }},
		"a chatty profile":  {with(sshtest.Options{Profile: "yes noise | head -c 2000000"}), ErrRefused, "more than 1 MB: .* it said: .*noise", patient},
		"a refusing shell":  {with(sshtest.Options{Profile: "echo This account is not available; exit 1"}), ErrRefused, "status 1: .* it said: This account is not available", patient},
		"a shell killed":    {with(sshtest.Options{Profile: "kill -9 $$"}), ErrUnreachable, "", patient},
		"another processor": {with(sshtest.Options{Profile: "mkdir bin; echo '#!/bin/sh\necho Linux riscv64' >bin/uname; chmod 700 bin/uname; PATH=$PWD/bin:$PATH"}), ErrRefused, "it runs Linux riscv64, and this program is for " + system(), patient},
		"a full disk":       {with(sshtest.Options{Mounts: "mount -t tmpfs -o size=64k tmpfs $HOME/.cache"}), ErrRefused, "make room there, .*No space left", patient},
		"a limit of files":  {with(sshtest.Options{Profile: "ulimit -f 100"}), ErrRefused, "make room there", patient},
		"a full folder":     {with(sshtest.Options{Mounts: "mount -t tmpfs -o nr_inodes=2 tmpfs $HOME/.cache"}), ErrRefused, "make room there, .*No space left", patient},
		"a home that goes":  {with(sshtest.Options{Mounts: "mount -t tmpfs tmpfs $HOME/.cache"}), ErrRefused, "is gone again", patient},
		"a read-only home":  {with(sshtest.Options{Mounts: readOnly}), ErrRefused, "make the folder writable, .*Read-only", patient},
		"no execution":      {with(sshtest.Options{Mounts: noExec}), ErrRefused, "mount its file system without noexec", patient},
		"a changed key": {func(t *testing.T, n *sshtest.Network) string {
			h := n.Start(t, sshtest.Options{})
			h.ChangeKey(t)
			return h.Name
		}, ErrRefused, "remove the old key by ssh-keygen -R", patient},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDialer(t, n)
			test.time(d)
			to := parse(t, test.host(t, n))
			c, err := d.Dial(t.Context(), to, "host")
			if err == nil {
				c.Close()
			}
			said := fmt.Sprint(err)
			if !errors.Is(err, test.kind) || !regexp.MustCompile(test.says).MatchString(said) || !strings.HasPrefix(said, "worker host "+to.String()+": ") {
				t.Errorf("%v: want %v and %q", err, test.kind, test.says)
			}
		})
	}
}

func TestWithoutSSHOrProgramNothingIsTried(t *testing.T) {
	t.Parallel()
	d := &Dialer{Program: "/no/such/ssh", Binary: script(t, onHost)}
	if _, err := d.Dial(t.Context(), Host{Name: "a"}); !errors.Is(err, ErrNoSSH) || !strings.Contains(err.Error(), "install the OpenSSH client") {
		t.Error(err)
	}
	d = &Dialer{Program: "/no/such/ssh", Binary: "/no/such/program"}
	if _, err := d.Dial(t.Context(), Host{Name: "a"}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "read this program for worker host a") {
		t.Error(err)
	}
}

func TestAStopEndsADial(t *testing.T) {
	t.Parallel()
	n := sshtest.New(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	host := listen(t, "tcp", "127.0.0.1:0", func(net.Conn) { cancel(stop) })
	if _, err := newDialer(t, n).Dial(ctx, parse(t, host)); err != stop {
		t.Error(err)
	}
}

func TestAProgramThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	n := sshtest.New(t)
	h := n.Start(t, sshtest.Options{})
	d := newDialer(t, n)
	d.Binary = script(t, "#!/no/such/loader\n")
	c := dial(t, d, h)
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "cannot be started there") {
		t.Error(err)
	}
}
