package codex

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
)

// With Options.Loopback each command of the agent has a network namespace of its own, in
// which it reaches its own loopback and nothing else, so that tests can start servers. It
// takes two settings, and Codex says nothing if one of them is missing: the profile allows
// the network, and the feature network_proxy puts the command into a namespace whose only
// way out is a proxy of Codex. It refuses all but the hosts of network.go. Without
// the feature a command has the whole network of the machine.
//
// So the effect counts. verifyLoopback tries it with a program of ours, and asks for the
// features of the thread, which can differ from the server's. ShellStart looks again in each
// command of the agent that bash runs.

// networkFeature is the setting of the feature that separates networks.
const networkFeature = "features.network_proxy"

// The remedies if the loopback is not closed or cannot be tested, and the same of Unix sockets.
const (
	loopbackAdvice    = "install Codex 0.169 or later without settings of its own for the network, or set sandbox.loopback: false"
	unixSocketsAdvice = "install Codex 0.169 or later, or remove sandbox.unix_sockets"
)

// onlyLoopback is a piece of bash that runs `refuse INTERFACE` if there is any other network
// than loopback.
const onlyLoopback = `while read -r interface _; do
  case $interface in Inter-* | face | lo:*) ;; *) refuse "${interface%%:*}" ;; esac
done </proc/net/dev || refuse "a network that cannot be read"
`

const (
	probePort  = "SYMPHONY_PROBE_PORT"          // variable with the probe's port, on which this program listens
	greeting   = "the loopback of this machine" // answer of this program to a client of that port
	probeFile  = "SYMPHONY_PROBE_FILE"          // variable with the name of the file that the probe tries to make in /tmp
	hostSocket = "SYMPHONY_PROBE_SOCKET"        // variable with Options.HostSocket
)

// probe tries the network of a command, and prints the path of the certificates that Codex
// gives clients of its proxy; nothing where that proxy reads nothing.
const probe = refuseProbe + onlyLoopback + `[ "$CODEX_NETWORK_PROXY_ACTIVE" = 1 ] || refuse "a network without the proxy of Codex"
` + askPort + `{ : >"/tmp/$` + probeFile + `"; } 2>/dev/null
case $SSL_CERT_FILE in */proxy/ca-bundle-*) printf %s "$SSL_CERT_FILE" ;; esac
`

const refuseProbe = `refuse() { echo "it reaches $1" >&2; exit 3; }
`

// askPort is a piece of bash that runs `refuse` if a connection to the probe's port, which
// belongs to this program, reaches it. In the command's own network nobody greets there:
// usually the connection is refused, and by chance it is one with a listener of Codex, or one
// of the command with itself. Each of these shows that the command has a loopback.
const askPort = `said=$( (exec 3<>"/dev/tcp/127.0.0.1/$` + probePort + `" && read -r -t 5 greeting <&3; echo "$greeting") 2>&1 )
case $said in
*"` + greeting + `"*) refuse "this machine by loopback" ;;
*refused* | "") ;;
*) echo "no socket can be opened: $said" >&2; exit 4 ;;
esac
`

// closeLoopback leaves the agent without a loopback, with a warning, if no program of ours can
// try it: it runs with the rules of the server's configuration, which are others.
func (s *sandbox) closeLoopback(ctx context.Context) error {
	if !s.o.Loopback || s.posture.sandbox != nil || s.o.SaveProfile != nil || s.o.Shared != "" {
		return nil
	}
	why := "make codex.command one simple command like `codex app-server` that does not set permissions, or set an API key"
	if s.o.ProfileGiven {
		err := s.verifyProfile(ctx, s.o.Cwd)
		if !errors.Is(err, ErrPosture) {
			return err
		}
		why = err.Error()
	}
	if s.o.anyHosts() {
		return noNetwork(why)
	}
	s.o.Loopback = false
	s.rules = permissions(s.o, s.denied)
	s.warn("the agent cannot open sockets, not even to its own loopback: " + why)
	return nil
}

// tryNetwork runs the probe in a network of the options, unless it has succeeded before or
// there is no network to separate. The errors are [ErrNoSandbox], [ExecError] and errors of a
// call.
func (s *sandbox) tryNetwork(ctx context.Context, name string) error {
	s.mu.Lock()
	tried := s.tried[name]
	s.mu.Unlock()
	if tried || !s.o.Loopback {
		return nil
	}
	if err := s.tryLoopback(ctx, name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried[name] = true
	return nil
}

// tryLoopback runs the probe with the permission profile of a network. If the proxy of Codex
// reads the requests of commands there, it saves the certificates for that.
func (s *sandbox) tryLoopback(ctx context.Context, network string) error {
	if runtime.GOOS != "linux" {
		return notClosed("only Linux gives each command a loopback of its own")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("try the sandbox's loopback: %w", err)
	}
	defer listener.Close()
	go greet(listener)
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	file := "symphony-probe-" + rand.Text()
	var printed bytes.Buffer
	err = s.tryProgram(ctx, Exec{
		Argv: []string{"bash", "-c", probe}, Env: []string{probePort + "=" + port, probeFile + "=" + file, "LC_ALL=C", "BASH_ENV="},
		Network: network, probing: true, Stdout: &printed,
	}, notClosed)
	if err == nil {
		err = s.verifyTmp(file)
	}
	if of := s.o.profiles()[s.o.profileOf(network)]; err == nil && of.isRead() {
		err = s.saveCertificates(printed.String())
	}
	if err == nil {
		err = s.tryUnixSockets(ctx, network)
	}
	return err
}

// verifyTmp checks that the probe has not made a file in the /tmp of this machine.
func (s *sandbox) verifyTmp(name string) error {
	if s.o.Tmp != "" {
		_ = os.Remove(filepath.Join(s.o.Tmp, name)) // it is not there if /tmp cannot be written
	}
	if err := os.Remove(filepath.Join(slashTmp, name)); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: a command can write to /tmp of this machine, which all programs share: install Codex 0.169 or later without settings of its own for permissions", ErrNoSandbox)
	}
	return nil
}

func greet(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Write([]byte(greeting + "\n")) // whoever does not read it was not the probe
		c.Close()
	}
}

func notClosed(why string) error {
	return fmt.Errorf("%w: the sandbox does not separate the agent's network: %s: %s", ErrNoSandbox, text.OneLine(why, messageRunes), loopbackAdvice)
}

// verifyLoopback tests, when the thread is open, that its commands will have their own
// loopback and nothing else. A sandbox of the workflow is not tested.
func (s *sandbox) verifyLoopback(ctx context.Context) error {
	if !s.o.Loopback || s.posture.sandbox != nil {
		return nil
	}
	err := s.CanExec(ctx)
	if errors.Is(err, ErrNoExec) {
		return notClosed(err.Error())
	}
	if err == nil {
		err = systemic(s.tryNetwork(ctx, ""))
	}
	if err == nil {
		err = s.verifyFeature(ctx)
	}
	return err
}

// verifyFeature checks that the thread separates networks: its features count for turns.
func (s *sandbox) verifyFeature(ctx context.Context) error {
	type feature struct {
		Name    string
		Enabled bool
	}
	var has struct{ Data []feature }
	params := map[string]any{"threadId": s.ThreadID(), "limit": 1000}
	err := s.call(ctx, "experimentalFeature/list", params, into(&has))
	if refused, isRefusal := errors.AsType[*ResponseError](err); isRefusal {
		return notClosed(refused.Error())
	}
	if err == nil && !slices.Contains(has.Data, feature{strings.TrimPrefix(networkFeature, "features."), true}) {
		return notClosed("the thread does not have the feature network_proxy")
	}
	return err
}

// With Options.UnixSockets the commands of the agent may open Unix sockets of their own, which
// PostgreSQL, node and Python's multiprocessing use. Codex has one setting for this, and it
// opens all of them: a command also reaches each socket of this machine whose path it can
// read. The network namespace of the command closes abstract sockets alone. So the caller
// denies the paths of the sockets of this machine, and tryUnixSockets tries the effect.

// unixProbe fails if a command sees the socket of this program, because whoever sees a socket
// can connect to it. Then it connects to a socket of its own, if there is a Perl: bash has no
// Unix sockets.
const unixProbe = refuseProbe + `[ ! -S "$` + hostSocket + `" ] || refuse "a Unix socket of this machine"
type perl >/dev/null 2>&1 || exit 0
cd "$TMPDIR" && exec perl -e '
$here = pack("S a108", 1, $name = "symphony-probe-$$");
$connected = socket(L, 1, 1, 0) && bind(L, $here) && listen(L, 1) && socket(C, 1, 1, 0) && connect(C, $here);
$why = "$!";
unlink $name;
$connected or print STDERR "it cannot connect to a Unix socket of its own: $why\n" and exit 4'
`

// tryUnixSockets runs unixProbe with the permission profile of a network. The error is
// [ErrNoSandbox], or an error of a call.
func (s *sandbox) tryUnixSockets(ctx context.Context, network string) error {
	if !s.o.UnixSockets {
		return nil
	}
	x := Exec{
		Argv: []string{"bash", "-c", unixProbe}, Env: []string{hostSocket + "=" + s.o.HostSocket, "TMPDIR=" + s.o.Temp, "LC_ALL=C", "BASH_ENV="},
		Network: network, probing: true,
	}
	return s.tryProgram(ctx, x, func(said string) error {
		return fmt.Errorf("%w: the sandbox does not separate Unix sockets: %s: %s", ErrNoSandbox, text.OneLine(said, messageRunes), unixSocketsAdvice)
	})
}
