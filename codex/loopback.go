package codex

import (
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

	"github.com/symphony-runner/symphony/codex/door"
	"github.com/symphony-runner/symphony/codex/proxy"
	"github.com/symphony-runner/symphony/internal/text"
)

// With Options.Loopback each command of the agent has a network namespace of its own, in
// which it reaches its own loopback and nothing else, so that tests can start servers. It
// takes two settings, and Codex says nothing if one of them is missing: the profile allows
// the network, and the feature network_proxy puts the command into a namespace whose only
// way out is a proxy of Codex, which refuses everything. Without the feature a command has
// the whole network of the machine.
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
	probeDoors = "SYMPHONY_PROBE_SERVICES"      // variable with the ports of Options.Services
)

// probe tries the network of a command.
var probe = refuseProbe + onlyLoopback + `[ "$CODEX_NETWORK_PROXY_ACTIVE" = 1 ] || refuse "a network without the proxy of Codex"
` + askPort + askDoor + `{ : >"/tmp/$` + probeFile + `"; } 2>/dev/null
exit 0
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

// The probe says one of these about a network whose proxy it does not reach, or a service.
const (
	noProxy   = "the proxy of this program does not answer"
	noService = "this program does not listen for the service localhost:"
)

// askDoor is a piece of bash that fails if a command in a network with hosts does not reach its
// proxy, or one with services no listener for them, and runs `refuse` if another command reaches a
// proxy.
var askDoor = `said=$( { exec 3<>"/dev/tcp/` + strings.Replace(door.Address, ":", "/", 1) + `" && printf 'GET / HTTP/1.0\r\n\r\n' >&3 &&
  while read -r -t 5 line <&3; do echo "$line"; done; } 2>/dev/null )
case $` + door.Variable + `/$said in
` + withHosts + `*/*"` + proxy.Greeting + `"*) ;;
` + withHosts + `*) echo "` + noProxy + `" >&2; exit 5 ;;
*"` + proxy.Greeting + `"*) refuse "the hosts of another network" ;;
esac
for port in $` + probeDoors + `; do
  ( exec 3<>"/dev/tcp/127.0.0.1/$port" ) 2>/dev/null || { echo "` + noService + `$port" >&2; exit 5; }
done
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
	if s.o.hasDoors() {
		return s.o.noDoor(why)
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

// tryLoopback runs the probe in a network.
func (s *sandbox) tryLoopback(ctx context.Context, network string) error {
	if runtime.GOOS != "linux" {
		return notClosed("only Linux gives each command a loopback of its own")
	}
	listener, err := s.listenForProbe()
	if err != nil {
		return fmt.Errorf("try the sandbox's loopback: %w", err)
	}
	defer listener.Close()
	go greet(listener)
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	services := strings.Trim(fmt.Sprint(s.o.servicesIn(network)), "[]")
	file := "symphony-probe-" + rand.Text()
	err = s.tryProgram(ctx, Exec{
		Argv: []string{"bash", "-c", probe}, Env: []string{probePort + "=" + port, probeFile + "=" + file, probeDoors + "=" + services, "LC_ALL=C", "BASH_ENV="},
		Network: network, probing: true,
	}, func(said string) error {
		if strings.Contains(said, noProxy) || strings.Contains(said, noService) {
			return s.o.noDoor(said)
		}
		return notClosed(said)
	})
	if err == nil {
		err = s.verifyTmp(file)
	}
	if err == nil {
		err = s.tryUnixSockets(ctx, network)
	}
	return err
}

// listenForProbe returns a listener on a port that is not one of Options.Services.
func (s *sandbox) listenForProbe() (net.Listener, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil || !slices.Contains(s.o.Services, listener.Addr().(*net.TCPAddr).Port) {
		return listener, err
	}
	defer listener.Close() // no earlier, so that the next one is another
	return s.listenForProbe()
}

// verifyTmp checks that the probe has not made a file in the /tmp of this machine.
func (s *sandbox) verifyTmp(name string) error {
	if s.o.Bubblewrap != nil {
		_ = os.Remove(filepath.Join(s.o.Bubblewrap.Tmp(), name)) // it is not there if /tmp cannot be written
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

// loopbackRules returns the table "network" of a permission profile, with Unix sockets or without.
func loopbackRules(unixSockets bool) map[string]any {
	rules := map[string]any{"enabled": true, "allow_local_binding": true}
	if unixSockets {
		rules["dangerously_allow_all_unix_sockets"] = true
	}
	return rules
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

// tryUnixSockets runs unixProbe in a network. The error is
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
