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

// reachesThisMachine returns a raid that sends to sockets of this machine by each kind of network,
// and by each of its addresses.
func (c *testbed) reachesThisMachine() raid {
	var listeners []net.Listener
	var addresses []string
	stream := func(network, address string) {
		l, err := net.Listen(network, address)
		if err != nil {
			return // this machine does not have such addresses
		}
		c.t.Cleanup(func() { l.Close() })
		addresses, listeners = append(addresses, network+" "+l.Addr().String()), append(listeners, l)
	}
	stream("tcp", "127.0.0.1:0")
	stream("tcp", "[::1]:0")
	stream("unix", "@raid-"+c.id)
	own, _ := net.InterfaceAddrs() // none is as good as one
	for _, address := range own {
		if ip, isIP := address.(*net.IPNet); isIP && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
			stream("tcp", ip.IP.String()+":0")
		}
	}
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { packets.Close() })
	addresses = append(addresses, "udp "+packets.LocalAddr().String())
	return raid{
		name:    "ReachesThisMachineByEveryNetwork",
		command: fmt.Sprintf("%s='%s' '%s' -test.run '^TestHelperSends$' -test.v", sendAll, strings.Join(addresses, ","), os.Args[0]),
		success: func(output string) bool {
			if !strings.Contains(output, "udp ") {
				c.t.Fatalf("the program did not run, so this shows nothing:\n%s", output)
			}
			packets.SetReadDeadline(time.Now().Add(isThere))
			_, _, missing := packets.ReadFrom(make([]byte, 10))
			arrived := missing == nil
			all := arrived
			for _, l := range listeners {
				reached := isReached(l)
				arrived, all = arrived || reached, all && reached
			}
			if arrived && !all {
				c.t.Errorf("only a part of it arrived:\n%s", output)
			}
			return arrived
		},
	}
}
