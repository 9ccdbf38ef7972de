package codex_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/codex/door"
	"github.com/symphony-runner/symphony/internal/codextest"
)

// These are the raids on the doors of commands, see package door.

// askDoor is a piece of bash that says what answers at the address of a door.
const askDoor = `answer() { { exec 3<>/dev/tcp/127.0.0.1/61080 && printf 'GET / HTTP/1.0\r\n\r\n' >&3 && grep symphony <&3; } 2>/dev/null || echo nobody; }
`

// asksForADoor returns a command that looks for the socket of the doors, by its path and in all
// processes, and asks for a door of another network: with the programs that do it outside the
// sandbox, and for a namespace of its own.
func (c *testbed) asksForADoor(network string) string {
	return askDoor + fmt.Sprintf("folder='%s' self='%s' connect=%s variable=%s network=%s name=%s\n", c.path("programs"), self(c.t), connectTo, door.Variable, network, door.Name) +
		`socket=$folder/door
env "$connect=unix $socket" "$self" -test.run '^TestHelperConnects$' -test.v
ls "$folder" && echo raided: it sees the folder
find / -xdev -type s -name door 2>/dev/null | sed 's/^/raided: /'
for process in /proc/[0-9]*; do
  ls -l $process/fd 2>/dev/null | grep -F "$folder" && echo raided: $process
  [ ! -e "$process/root$socket" ] || echo raided: $process/root
done
export "$variable=$network"
"$self" "$name" enter "$socket" /bin/bash -c "$(declare -f answer); answer" | sed 's/^/it has asked and hears /'
"$folder/bwrap" --unshare-user --unshare-net --ro-bind / / true && echo raided: it runs the program before bubblewrap
"$self" "$name" listen "$(stat -Lc %i /proc/self/ns/net)" 61081 3</dev/null 2>&1 | sed 's/^/it listens: /'
`
}

// TestRaidAsksForADoor has commands that reach no hosts, and that reach those of one network, ask
// for the door of another one. They may open Unix sockets.
func TestRaidAsksForADoor(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	try := func(t *testing.T, c *testbed, s testSession, network, answer string) {
		t.Helper()
		outside, err := net.Dial("unix", c.path("programs/door"))
		if err != nil {
			t.Fatalf("the socket is not there, so this shows nothing: %v", err)
		}
		outside.Close()
		script := c.asksForADoor(network)
		output := c.turn(s, script)
		if !strings.Contains(output, "own-socket connected: true") || !strings.Contains(output, "door connected: false") {
			t.Errorf("it did not try, or reaches the socket:\n%s", output)
		}
		if !strings.Contains(output, "it has asked and hears "+answer+"\n") || strings.Contains(output, "raided") {
			t.Errorf("%s", output)
		}
		if !strings.Contains(output, "it listens: symphony: open a door: ") {
			t.Errorf("it listens:\n%s", output)
		}
	}
	eachModel(t, func(t *testing.T, model string) {
		c := shortTestbed(t, model)
		c.networks = map[string]codex.Network{"setup": {Hosts: []string{"registry.example"}, Full: true}}
		s := c.open(codex.Config{}, "")
		defer c.close(s)
		if said := c.bash(s, "setup", askDoor+"answer"); said != "the proxy of symphony\n" {
			t.Errorf("a program with hosts hears %q, so this shows nothing", said)
		}
		try(t, c, s, "hosts:setup", "nobody")
	})
	t.Run("with hosts", func(t *testing.T) {
		c := shortTestbed(t, plainModel)
		c.network = codex.Network{Hosts: []string{"registry.example"}}
		c.networks = map[string]codex.Network{"full": {Hosts: []string{"other.example"}, Full: true}}
		s := c.open(codex.Config{}, "")
		defer c.close(s)
		try(t, c, s, "hosts:full", "the proxy of symphony") // its own
		raw := fmt.Sprintf("%s='CONNECT other.example:443' HTTP_PROXY=http://%s '%s' -test.run '^TestHelperAsksRawly$' -test.v", rawRequests, door.Address, self(t))
		if output := c.turn(s, "export "+door.Variable+"=hosts:full; "+raw); !strings.Contains(output, " 403 ") {
			t.Errorf("it reaches the hosts of another network:\n%s", output)
		}
	})
}

// TestRaidLooksForThePipesOfItsDoor compares what a command with a door inherits with what one
// without it does: its descriptors, and those of each process that it sees.
func TestRaidLooksForThePipesOfItsDoor(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	c := newTestbed(t, plainModel)
	c.networks = map[string]codex.Network{"setup": {Hosts: []string{"registry.example"}}}
	s := c.connect(true)
	defer c.close(s)
	const list = `for process in 1 self; do for fd in {0..300}; do
  [ ! -L /proc/$process/fd/$fd ] || echo "$process $fd $(readlink /proc/$process/fd/$fd | tr -d 0-9)"
done; done; grep -i -E 'json-status|block-fd' /proc/1/cmdline; ` + askDoor + `answer`
	with, without := c.bash(s, "setup", list), c.bash(s, "", list)
	if with != strings.Replace(without, "nobody", "the proxy of symphony", 1) || !strings.Contains(without, "self 1 ") {
		t.Errorf("with a door:\n%s\nand without one:\n%s", with, without)
	}
}

// TestRaidHoldsItsDoor leaves a program behind with as many connections as it gets, each of them in
// the middle of a request, and takes the address of the door in every way. The session closes as
// soon as any other.
func TestRaidHoldsItsDoor(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	c := newTestbed(t, plainModel)
	c.network = codex.Network{Hosts: []string{"registry.example"}}
	s := c.open(codex.Config{}, "")
	said := c.turn(s, askDoor+`setsid bash -c 'for i in {1..300}; do exec {fd}<>/dev/tcp/127.0.0.1/61080; printf "CONNECT registry.example:443 HTTP/1.1\r\nHost: x" >&$fd; done; touch held; read <>held-for-ever' >/dev/null 2>&1 &
mkfifo held-for-ever; until [ -e held ]; do read -t 0.05 <>held-for-ever; done
perl -MSocket -e 'for my $at (INADDR_LOOPBACK, INADDR_ANY) { socket(S, PF_INET, SOCK_STREAM, 0); setsockopt(S, SOL_SOCKET, $_, 1) for SO_REUSEADDR, SO_REUSEPORT; print "bound: ", (bind(S, pack_sockaddr_in(61080, $at)) && listen(S, 1) ? "raided" : "$!"), "\n" }'; echo tried`)
	began := time.Now()
	c.close(s)
	if d := time.Since(began); d > 8*time.Second {
		t.Errorf("the session takes %v to close", d)
	}
	if !strings.Contains(said, "tried") || strings.Contains(said, "raided") {
		t.Errorf("%s", said)
	}
}

// TestAProgramOnATerminalReachesTheHostsOfItsNetwork has a terminal as the standard input.
func TestAProgramOnATerminalReachesTheHostsOfItsNetwork(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	c := newTestbed(t, plainModel)
	c.networks = map[string]codex.Network{"setup": {Hosts: []string{"registry.example"}}}
	s := c.connect(true)
	defer c.close(s)
	keys, typed := io.Pipe()
	defer typed.Close()
	go fmt.Fprintln(typed, "typed")
	var out bytes.Buffer
	_, err := s.Exec(t.Context(), codex.Exec{
		Argv: []string{"bash", "-c", "[ -t 0 ] && echo a terminal; read word; echo \"it reads $word\"; " + askDoor + "answer"}, Env: []string{"BASH_ENV=" + c.path("temp/start.sh")},
		Network: "setup", Stdout: &out, Timeout: time.Minute, Terminal: &codex.Terminal{Size: codex.Size{Rows: 24, Columns: 80}, Keys: keys},
	})
	if err != nil {
		t.Fatal(err)
	}
	mustSay(t, strings.ReplaceAll(out.String(), "\r", ""), "a terminal", "it reads typed", "the proxy of symphony")
}
