package codex_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/codextest"
)

// serveHere is the environment variable that makes TestHelperServes serve.
const serveHere = "SERVE_HERE"

// TestHelperServes asks a server of its own by loopback, as the tests of many projects do.
func TestHelperServes(t *testing.T) {
	if os.Getenv(serveHere) == "" {
		t.Skip("it is a program that an agent runs")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer server.Close()
	answer, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("served", string(text))
}

// TestAnAgentReachesItsOwnLoopback runs a server and its client in one command.
func TestAnAgentReachesItsOwnLoopback(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	eachModel(t, func(t *testing.T, model string) {
		c := newTestbed(t, model)
		output := c.run(codex.Config{}, fmt.Sprintf("env | grep -i _proxy=; %s=1 '%s' -test.run '^TestHelperServes$' -test.v", serveHere, program))
		if !strings.Contains(output, "served hello") || strings.Contains(strings.ToLower(output), "_proxy=http") {
			t.Errorf("%s", output)
		}
	})
}

// TestALoopbackThatIsNotClosedIsRefused switches off each of the settings that separate the
// agent's network from the machine's. Codex itself says nothing about any of them.
func TestALoopbackThatIsNotClosedIsRefused(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	for name, change := range map[string]func(*testbed){
		"the server's feature":     func(c *testbed) { c.features = map[string]bool{"network_proxy": false} },
		"an argument of the codex": func(c *testbed) { c.arguments = " -c features.network_proxy=false" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTestbed(t, plainModel)
			change(c)
			s := c.connect(false)
			defer c.close(s)
			if err := s.OpenThread(t.Context()); !errors.Is(err, codex.ErrNoSandbox) || !strings.Contains(err.Error(), "sandbox.loopback") {
				t.Errorf("%v", err)
			} else {
				t.Log(err)
			}
		})
	}
}

// sendAll is the environment variable that makes TestHelperSends send to each of its addresses.
const sendAll = "SEND_ALL"

// TestHelperSends sends a text to addresses of the form NETWORK ADDRESS, separated by commas.
func TestHelperSends(t *testing.T) {
	addresses := os.Getenv(sendAll)
	if addresses == "" {
		t.Skip("it is a program that the red team runs")
	}
	for address := range strings.SplitSeq(addresses, ",") {
		network, where, _ := strings.Cut(address, " ")
		c, err := net.DialTimeout(network, where, time.Second)
		if err == nil {
			_, err = c.Write([]byte("raided"))
			c.Close()
		}
		fmt.Println(address, err)
	}
}

// isThere bounds the wait for what has arrived before, if anything has.
const isThere = 100 * time.Millisecond

// isReached reports whether a connection to a listener was made before.
func isReached(l net.Listener) bool {
	l.(interface{ SetDeadline(time.Time) error }).SetDeadline(time.Now().Add(isThere))
	conn, err := l.Accept()
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// TestRaidReachesThisMachineByEveryNetwork sends to sockets of this machine by each kind of
// network, and by each of its addresses.
func TestRaidReachesThisMachineByEveryNetwork(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	try := func(t *testing.T, model string, cfg codex.Config) int {
		c := newTestbed(t, model)
		var listeners []net.Listener
		var addresses []string
		stream := func(network, address string) {
			l, err := net.Listen(network, address)
			if err != nil {
				return // this machine does not have such addresses
			}
			t.Cleanup(func() { l.Close() })
			addresses = append(addresses, network+" "+l.Addr().String())
			listeners = append(listeners, l)
		}
		stream("tcp", "127.0.0.1:0")
		stream("tcp", "[::1]:0")
		stream("unix", fmt.Sprintf("@raid-%d-%p", os.Getpid(), c))
		own, _ := net.InterfaceAddrs() // none is as good as one
		for _, address := range own {
			if ip, isIP := address.(*net.IPNet); isIP && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
				stream("tcp", ip.IP.String()+":0")
			}
		}
		packets, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer packets.Close()
		addresses = append(addresses, "udp "+packets.LocalAddr().String())
		output := c.run(cfg, fmt.Sprintf("%s='%s' '%s' -test.run '^TestHelperSends$' -test.v", sendAll, strings.Join(addresses, ","), program))
		if !strings.Contains(output, "udp ") {
			t.Fatalf("the program did not run, so this shows nothing:\n%s", output)
		}
		arrived := 0
		for _, l := range listeners {
			if isReached(l) {
				arrived++
			}
		}
		packets.SetReadDeadline(time.Now().Add(isThere))
		if _, _, err := packets.ReadFrom(make([]byte, 10)); err == nil {
			arrived++
		}
		if arrived > 0 && cfg.UsesProfile() {
			t.Errorf("it arrived:\n%s", output)
		}
		return arrived
	}
	t.Run("guard off", func(t *testing.T) {
		if n := try(t, plainModel, unguarded()); n < 3 {
			t.Errorf("without the guard it arrives %d times, so this shows nothing", n)
		}
	})
	t.Run("guard on", func(t *testing.T) { try(t, plainModel, codex.Config{}) })
}

// TestRaidAsksTheProxyOfCodex asks the proxy that Codex gives each command for a port of this
// machine, by several of its names.
func TestRaidAsksTheProxyOfCodex(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	c := newTestbed(t, plainModel)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	hosts := []string{"127.0.0.1", "localhost", "2130706433", "127.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]"}
	for _, host := range hosts {
		_, port, _ := net.SplitHostPort(l.Addr().String())
		s := c.open(codex.Config{}, "") // the model of a session says one thing
		c.say(fmt.Sprintf(`p=$(tr '\0' '\n' </proc/$$/environ | sed -n 's|^HTTP_PROXY=http://127.0.0.1:||p'); echo "the proxy is at $p" >>asked
exec 3<>/dev/tcp/127.0.0.1/$p && printf 'CONNECT %[1]s:%[2]s HTTP/1.1\r\nHost: %[1]s:%[2]s\r\n\r\n' >&3 && head -c 12 <&3 >>asked`, host, port), nil)
		if _, err := s.Turn(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		c.close(s)
	}
	asked := c.read("workspaces/own/asked")
	if n := strings.Count(asked, "the proxy is at "); n != len(hosts) || strings.Contains(asked, "at \n") {
		t.Errorf("the proxy was found %d times, so this shows nothing:\n%s", n, asked)
	}
	if isReached(l) || strings.Contains(asked, " 200") {
		t.Errorf("the port was reached:\n%s", asked)
	}
}
