// Package sshtest gives tests hosts to which a real ssh connects: a real sshd on loopback, for the user of the test,
// without any change of the machine. A test that asks for it is skipped where there is none.
//
// SYMPHONY_TEST_SSHD names the sshd of a package openssh-server that has been unpacked into a folder, or the one of
// the system. A [Network] is the side of the client: its own known_hosts, key and settings, behind a program that
// is called as ssh is. A [Host] has folders of its own as HOME and XDG_CACHE_HOME, a login shell and a profile;
// it can be killed with all its processes, and started again at its address. Each connection gets an sshd of
// its own, as inetd would start it, so that no port is taken by somebody else meanwhile.
//
// An sshd of the superuser wants a user sshd and a folder /run/sshd. It gets them in a mount namespace.
package sshtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/symphony-runner/symphony/internal/shell"
)

// Network is the side of the client of some hosts.
type Network struct {
	Client string // path of a program that is ssh with the settings of the network

	folder string
	sshd   string

	mu    sync.Mutex
	known map[string]string // public keys of hosts by address
}

// New makes a network for a test, or skips the test without an sshd.
func New(t testing.TB) *Network {
	t.Helper()
	n := &Network{folder: t.TempDir(), sshd: os.Getenv("SYMPHONY_TEST_SSHD"), known: map[string]string{}}
	if n.sshd == "" {
		t.Skip("no sshd: unpack Debian's openssh-server as .ci/run does, and set SYMPHONY_TEST_SSHD to the absolute path of usr/sbin/sshd in it")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the processes of a host are found in /proc")
	}
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("there is no ssh in PATH")
	}
	if err := exec.Command("unshare", "-m", "true").Run(); isRoot() && err != nil {
		t.Skipf("sshd of the superuser needs a mount namespace: unshare -m: %v", err)
	}
	n.Client = n.file("ssh")
	newKey(t, n.file("identity"))
	writeFile(t, n.file("authorized"), readFile(t, n.file("identity.pub")), 0o600)
	n.saveKnown(t)
	writeFile(t, n.file("config"), fmt.Sprintf("IdentityFile %s\nIdentitiesOnly yes\nUserKnownHostsFile %s\nGlobalKnownHostsFile /dev/null\n",
		n.file("identity"), n.file("known_hosts")), 0o600)
	writeFile(t, n.Client, "#!/bin/sh\nexec "+shell.Quote(ssh)+" -F "+shell.Quote(n.file("config"))+` "$@"`+"\n", 0o700)
	return n
}

// Configure appends lines to the settings of ssh.
func (n *Network) Configure(t testing.TB, lines string) {
	t.Helper()
	writeFile(t, n.file("config"), readFile(t, n.file("config"))+lines, 0o600)
}

func (n *Network) file(name string) string { return filepath.Join(n.folder, name) }

// trust makes a key the one that an address is known by.
func (n *Network) trust(t testing.TB, address, key string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known[address] = key
	n.saveKnown(t)
}

func (n *Network) saveKnown(t testing.TB) {
	t.Helper()
	var b strings.Builder
	for address, key := range n.known {
		b.WriteString(address + " " + key)
	}
	writeFile(t, n.file("known_hosts.new"), b.String(), 0o600)
	if err := os.Rename(n.file("known_hosts.new"), n.file("known_hosts")); err != nil { // an ssh may be reading it
		t.Fatal(err)
	}
}

func isRoot() bool { return os.Geteuid() == 0 }

// newKey makes a key of ssh, or another one in its place.
func newKey(t testing.TB, path string) {
	t.Helper()
	_ = os.Remove(path) // ssh-keygen would ask
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
}

func writeFile(t testing.TB, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
