package codex_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/codextest"
)

// connectTo is the environment variable that makes TestHelperConnects connect.
const connectTo = "CONNECT_TO"

// TestHelperConnects connects to Unix sockets of the form NETWORK ADDRESS, separated by commas,
// and to a stream socket of its own.
func TestHelperConnects(t *testing.T) {
	addresses := os.Getenv(connectTo)
	if addresses == "" {
		t.Skip("it is a program that an agent runs")
	}
	own, err := net.Listen("unix", "own-socket")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	for address := range strings.SplitSeq(addresses+",unix own-socket", ",") {
		network, name, _ := strings.Cut(address, " ")
		c, err := net.Dial(network, name)
		if err == nil {
			c.Close()
		}
		fmt.Println(name, "connected:", err == nil, err)
	}
}

// unixListeners holds sockets of the machine by their names in the output of TestHelperConnects.
type unixListeners struct {
	t         *testing.T
	addresses []string
	names     []string
}

// add listens; as is the name by which the agent connects.
func (l *unixListeners) add(network, at, as string) {
	l.t.Helper()
	var socket interface{ Close() error }
	var err error
	if network == "unixgram" {
		socket, err = net.ListenUnixgram(network, &net.UnixAddr{Name: at, Net: network})
	} else {
		socket, err = net.Listen(network, at)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { socket.Close() })
	l.addresses, l.names = append(l.addresses, network+" "+as), append(l.names, as)
}

// shortTestbed returns a testbed whose paths are short enough for Unix sockets.
func shortTestbed(t *testing.T, model string) *testbed {
	t.Helper()
	c := newTestbed(t, model)
	c.unix, c.host = true, c.path("logs/probe")
	c.write("logs/note", "")
	c.write("one/note", "")
	(&unixListeners{t: t}).add("unix", c.host, c.host)
	return c
}

// TestRaidConnectsToUnixSocketsOfTheMachine connects to sockets of each type: in a denied folder,
// denied by their own paths, by links, abstract ones, and one that is made when the session runs.
// The agent may open its own.
func TestRaidConnectsToUnixSocketsOfTheMachine(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	try := func(t *testing.T, model string, cfg codex.Config) (reached []string) {
		c := shortTestbed(t, model)
		l := &unixListeners{t: t}
		for _, network := range []string{"unix", "unixgram", "unixpacket"} {
			l.add(network, c.path("logs/"+network), c.path("logs/"+network))
			l.add(network, c.path("one/"+network), c.path("one/"+network))
			l.add(network, "@"+c.path(network), "@"+c.path(network))
			c.deny = append(c.deny, c.path("one/"+network))
		}
		c.build()
		for _, target := range []string{"logs", "one"} {
			link := "to-" + target // a whole path would be too long
			if err := os.Symlink(c.path(target), filepath.Join(c.ws.Path, link)); err != nil {
				t.Fatal(err)
			}
			l.addresses, l.names = append(l.addresses, "unix "+link+"/unix"), append(l.names, link+"/unix")
		}
		s := c.open(cfg, "")
		defer c.close(s)
		l.add("unix", c.path("logs/later"), c.path("logs/later"))
		output := c.turn(s, fmt.Sprintf("%s='%s' '%s' -test.run '^TestHelperConnects$' -test.v", connectTo, strings.Join(l.addresses, ","), program))
		if !strings.Contains(output, "own-socket connected: true") {
			t.Errorf("the agent cannot connect to its own socket:\n%s", output)
		}
		for _, name := range l.names {
			if !strings.Contains(output, name+" connected: ") {
				t.Errorf("%s was not tried:\n%s", name, output)
			}
			if strings.Contains(output, name+" connected: true") {
				reached = append(reached, name)
			}
		}
		return reached
	}
	t.Run("guard off", func(t *testing.T) {
		if reached := try(t, plainModel, unguarded()); len(reached) != 12 {
			t.Errorf("without the guard only %q are reached, so this shows nothing", reached)
		}
	})
	eachModel(t, func(t *testing.T, model string) {
		if reached := try(t, model, codex.Config{}); len(reached) > 0 {
			t.Errorf("reached: %q", reached)
		}
	})
}

// TestUnixSocketsOfTheMachineThatAreNotClosedAreRefused gives the session a socket that the
// rules do not deny.
func TestUnixSocketsOfTheMachineThatAreNotClosedAreRefused(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	c := shortTestbed(t, plainModel)
	c.write("open/note", "")
	c.host = c.path("open/probe")
	(&unixListeners{t: t}).add("unix", c.host, c.host)
	s := c.connect(false)
	defer c.close(s)
	err := s.OpenThread(t.Context())
	if !errors.Is(err, codex.ErrNoSandbox) || !strings.Contains(err.Error(), "it reaches a Unix socket of this machine: install Codex 0.169 or later, or remove sandbox.unix_sockets") {
		t.Error(err)
	}
}

// TestRaidAsksTheProxyOfCodexForAUnixSocket asks the proxy, which runs outside of the sandbox,
// by the header that it has for this.
func TestRaidAsksTheProxyOfCodexForAUnixSocket(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	c := shortTestbed(t, plainModel)
	socket := c.path("logs/asked")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := c.open(codex.Config{}, "")
	defer c.close(s)
	c.say(fmt.Sprintf(`p=$(tr '\0' '\n' </proc/$$/environ | sed -n 's|^HTTP_PROXY=http://127.0.0.1:||p')
exec 3<>/dev/tcp/127.0.0.1/$p && printf 'GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\nx-unix-socket: %s\r\nConnection: close\r\n\r\n' >&3 && head -c 12 <&3 >asked`, socket), nil)
	if _, err := s.Turn(t.Context(), codex.Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if asked := c.read("workspaces/own/asked"); !strings.HasPrefix(asked, "HTTP/1.1 ") || strings.Contains(asked, " 200") {
		t.Errorf("the proxy says %q, so this shows nothing, or too much", asked)
	}
	if isReached(l) {
		t.Error("the socket was reached")
	}
}
