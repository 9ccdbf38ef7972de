package sshtest

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/symphony-runner/symphony/internal/shell"
)

// Options are properties of a host. The zero value is a host that works.
type Options struct {
	Profile string   // lines of sh that run before each command, as a profile does; $HOME is [Host.Home]
	Shell   string   // login shell; empty for sh
	Env     []string // more variables of the sessions, as NAME=value
	Banner  string   // text before the login
	Unknown bool     // the client does not know its key
	Closed  bool     // the host takes no key
	Mounts  string   // lines of sh that mount what sessions see, for the superuser; $HOME is [Host.Home]
}

// Host is a host that runs an sshd until the test ends.
type Host struct {
	Name string // as worker.ssh_hosts names it: USER@127.0.0.1:PORT
	Home string // HOME there; XDG_CACHE_HOME is .cache in it

	network *Network
	options Options
	folder  string
	address string
	mark    string // environment variable of all that the host runs, with its value

	mu       sync.Mutex
	listener net.Listener
	sessions map[*exec.Cmd]*os.File // running sshd, with its connection
	running  sync.WaitGroup
}

// Start starts a host.
func (n *Network) Start(t testing.TB, o Options) *Host {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{network: n, options: o, folder: t.TempDir(), address: "127.0.0.1:0", sessions: map[*exec.Cmd]*os.File{}}
	h.Home = h.file("home")
	h.mark = "SYMPHONY_SSHTEST=" + h.folder
	if err := os.MkdirAll(filepath.Join(h.Home, ".cache"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.Restart(t)
	t.Cleanup(h.Kill)
	h.Name = me.Username + "@" + h.address
	h.ChangeKey(t)
	if !o.Unknown {
		_, port, _ := net.SplitHostPort(h.address)
		n.trust(t, "[127.0.0.1]:"+port, readFile(t, h.file("key.pub")))
	}
	authorized := n.file("authorized")
	if o.Closed {
		authorized = "none"
	}
	writeFile(t, h.file("banner"), o.Banner, 0o600)
	writeFile(t, h.file("config"), strings.Join([]string{
		"HostKey " + h.file("key"), "AuthorizedKeysFile " + authorized, "PermitRootLogin prohibit-password",
		"PasswordAuthentication no", "KbdInteractiveAuthentication no", "StrictModes no", "UsePAM no", "UseDNS no",
		"PidFile none", "PrintMotd no", "AcceptEnv *", "Banner " + h.file("banner"), "LogLevel ERROR",
		"SetEnv HOME=" + h.Home + " " + h.mark, "ForceCommand " + h.file("session"), h.programs(), "",
	}, "\n"), 0o600)
	var env strings.Builder
	for _, variable := range append([]string{"XDG_CACHE_HOME=" + filepath.Join(h.Home, ".cache")}, o.Env...) {
		fmt.Fprintf(&env, "export %s\n", shell.Quote(variable))
	}
	writeFile(t, h.file("session"), fmt.Sprintf("#!/bin/sh\n%scd \"$HOME\"\n%s\nexec %s -c \"$SSH_ORIGINAL_COMMAND\"\n", env.String(), o.Profile, cmp.Or(o.Shell, "sh")), 0o700)
	writeFile(t, h.file("sshd"), "#!/bin/sh\nset -e\n"+h.mounts(t, me.Username)+"exec "+shell.Quote(n.sshd)+" -i -e -f "+h.file("config")+"\n", 0o700)
	return h
}

func (h *Host) file(name string) string { return filepath.Join(h.folder, name) }

// programs returns the settings for the other programs of newer versions of sshd, which are not in their place.
func (h *Host) programs() string {
	var lines []string
	for setting, name := range map[string]string{"SshdSessionPath": "sshd-session", "SshdAuthPath": "sshd-auth"} {
		path := filepath.Join(filepath.Dir(h.network.sshd), "../lib/openssh", name)
		if _, err := os.Stat(path); err == nil {
			lines = append(lines, setting+" "+path)
		}
	}
	return strings.Join(lines, "\n")
}

// mounts returns the lines of sh that give an sshd of the superuser its user and its folder.
func (h *Host) mounts(t testing.TB, me string) string {
	t.Helper()
	if !isRoot() {
		if h.options.Mounts != "" {
			t.Skip("only the superuser can mount")
		}
		return ""
	}
	writeFile(t, h.file("passwd"), "sshd:x:65533:65534::/run/sshd:/bin/false\n"+me+":x:0:0::"+h.Home+":/bin/sh\nnobody:x:65534:65534::/:/bin/false\n", 0o644)
	writeFile(t, h.file("shadow"), me+":*:19000:0:99999:7:::\n", 0o600) // a locked account is refused
	return "export HOME=" + h.Home + "\ncd " + h.folder + "\n" +
		"mount --bind passwd /etc/passwd\nmount --bind shadow /etc/shadow\nmount -t tmpfs -o mode=755 tmpfs /run\nmkdir -m 755 /run/sshd\n" +
		h.options.Mounts + "\n"
}

// Restart starts a host that was killed, at its address.
func (h *Host) Restart(t testing.TB) {
	t.Helper()
	listener, err := net.Listen("tcp", h.address)
	if err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listener, h.address = listener, listener.Addr().String()
	h.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			h.serve(listener, conn.(*net.TCPConn))
		}
	})
}

// serve starts the sshd of a connection, unless the host has been killed.
func (h *Host) serve(listener net.Listener, conn *net.TCPConn) {
	defer conn.Close()
	socket, err := conn.File()
	if err != nil {
		return
	}
	command := exec.Command(h.file("sshd"))
	if isRoot() {
		command = exec.Command("unshare", "-m", h.file("sshd"))
	}
	root := filepath.Join(filepath.Dir(h.network.sshd), "../..")
	libraries, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu")) // the pattern is correct
	command.Env = []string{h.mark, "PATH=" + os.Getenv("PATH"), "LD_LIBRARY_PATH=" + strings.Join(libraries, ":")}
	command.Stdin, command.Stdout = socket, socket
	if log, err := os.OpenFile(h.file("log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		command.Stderr = log
		defer log.Close()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listener != listener || command.Start() != nil {
		socket.Close()
		return
	}
	h.sessions[command] = socket
	h.running.Go(func() {
		_ = command.Wait() // its status says nothing that the client does not know
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.sessions, command)
		socket.Close()
	})
}

// ChangeKey gives the host another key than the client knows.
func (h *Host) ChangeKey(t testing.TB) {
	t.Helper()
	newKey(t, h.file("key"))
}

// Log returns the messages of the sshd; empty before the first connection.
func (h *Host) Log() string {
	log, _ := os.ReadFile(h.file("log"))
	return string(log)
}

// Cut ends all connections, as a network does that fails. The host goes on.
func (h *Host) Cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, socket := range h.sessions {
		_ = syscall.Shutdown(int(socket.Fd()), syscall.SHUT_RDWR) // it may be at its end
	}
}

// Kill ends the host with everything that runs there, as a power failure does: nothing there sees the end of
// another process.
func (h *Host) Kill() {
	h.mu.Lock()
	listener := h.listener
	h.listener = nil
	h.mu.Unlock()
	if listener != nil {
		listener.Close()
	}
	for {
		left := h.find()
		for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
			for pid := range left {
				_ = syscall.Kill(pid, signal) // it may have ended
			}
		}
		if len(left) == 0 {
			break
		}
	}
	h.running.Wait()
}
