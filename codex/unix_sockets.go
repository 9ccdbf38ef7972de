package codex

import (
	"context"
	"fmt"

	"github.com/symphony-runner/symphony/internal/text"
)

// With Options.UnixSockets the commands of the agent may open Unix sockets of their own, which
// PostgreSQL, node and Python's multiprocessing use. Codex has one setting for this, and it
// opens all of them: a command also reaches each socket of this machine whose path it can
// read. The network namespace of the command closes abstract sockets alone. So the caller
// denies the paths of the sockets of this machine, and tryUnixSockets tries the effect.

// unixSocketsAdvice is the remedy if the sockets of this machine are not closed, or a command's
// own do not open.
const unixSocketsAdvice = "install Codex 0.169 or later, or remove sandbox.unix_sockets"

// hostSocket is the variable that names Options.HostSocket to the probe.
const hostSocket = "SYMPHONY_PROBE_SOCKET"

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
