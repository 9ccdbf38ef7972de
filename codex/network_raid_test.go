package codex_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/codextest"
)

// These are the raids of commands that reach named hosts. The allowed host has a private
// address, so nothing but its name is what the proxy goes by.

// rawRequests is the environment variable that makes TestHelperAsksRawly send requests.
const rawRequests = "RAW_REQUESTS"

// TestHelperAsksRawly sends requests to the proxy as no client does, separated by commas:
// CONNECT HOST:PORT, GET HOST:PORT, BYTES HOST:PORT, which sends what is not TLS through a
// tunnel, SNI HOST:PORT NAME, which names another host in the tunnel, SOCKS HOST:PORT, and
// UPGRADE and PLAINUPGRADE HOST:PORT, which ask for a connection that nobody reads, in a tunnel
// and without one.
func TestHelperAsksRawly(t *testing.T) {
	requests := os.Getenv(rawRequests)
	if requests == "" {
		t.Skip("it is a program that the red team runs")
	}
	for line := range strings.SplitSeq(requests, ",") {
		words := strings.Fields(line)
		answer, err := askRawly(words[0], words[1], words[len(words)-1])
		if err != nil {
			answer = "failed: " + err.Error()
		}
		fmt.Printf("%s -> %.40q\n", line, answer)
	}
}

// askRawly sends one request, and returns the beginning of the answer.
func askRawly(kind, target, name string) (string, error) {
	variable := "HTTP_PROXY"
	if kind == "SOCKS" {
		variable = "ALL_PROXY"
	}
	proxy, err := url.Parse(os.Getenv(variable))
	if err != nil {
		return "", err
	}
	c, err := net.DialTimeout("tcp", proxy.Host, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	host, _, _ := net.SplitHostPort(target) // one without a port has no host
	switch kind {
	case "GET":
		fmt.Fprintf(c, "GET http://%s/raided HTTP/1.1\r\nHost: %[1]s\r\nConnection: close\r\n\r\n", target)
	case "PLAINUPGRADE":
		fmt.Fprintf(c, "GET http://%s/upgrade HTTP/1.1\r\nHost: %[1]s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", target)
	case "SOCKS":
		_, port, err := net.SplitHostPort(target)
		if err != nil {
			return "", err
		}
		number, err := net.LookupPort("tcp", port)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(c, "\x05\x01\x00\x05\x01\x00\x03%c%s%c%c", len(host), host, number>>8, number&255)
	default:
		fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", target)
	}
	from := bufio.NewReader(c)
	if kind == "BYTES" || kind == "SNI" || kind == "UPGRADE" {
		answer, err := http.ReadResponse(from, &http.Request{Method: http.MethodConnect})
		if err != nil || answer.StatusCode != http.StatusOK {
			return "no tunnel", err
		}
	}
	var in io.Reader = from
	switch kind {
	case "BYTES":
		fmt.Fprint(c, "GET /raided HTTP/1.1\r\nHost: "+target+"\r\n\r\n")
	case "SNI":
		inside := tls.Client(c, &tls.Config{ServerName: name, InsecureSkipVerify: true})
		fmt.Fprintf(inside, "GET /raided HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", name)
		in = inside
	case "UPGRADE":
		inside := tls.Client(c, &tls.Config{ServerName: host, InsecureSkipVerify: true})
		fmt.Fprintf(inside, "GET /upgrade HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", target)
		in = inside
	}
	text, err := io.ReadAll(io.LimitReader(in, 40))
	if len(text) > 0 {
		err = nil
	}
	return string(text), err
}

// rawly returns a command that sends raw requests.
func rawly(t *testing.T, requests ...string) string {
	t.Helper()
	return fmt.Sprintf("%s='%s' '%s' -test.run '^TestHelperAsksRawly$' -test.v", rawRequests, strings.Join(requests, ","), self(t))
}

// TestRaidLeavesItsAllowedHosts asks, in a network with one allowed host, for everything else:
// other hosts, other methods, another host inside the tunnel, and this machine and a cloud's
// metadata by all spellings.
func TestRaidLeavesItsAllowedHosts(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	host := newStandIn(t, true)
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.Errorf("this machine was reached: %s", r.Host) }))
	defer own.Close()
	_, ownPort, _ := net.SplitHostPort(own.Listener.Addr().String())
	allowed := net.JoinHostPort(host.host, host.port)
	var requests []string
	for _, name := range []string{
		"127.0.0.1", "localhost", "LOCALHOST", "localhost.", "a.localhost", "2130706433", "127.1", "0x7f000001", "0177.0.0.1", "0.0.0.0", "0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"other." + host.host, host.host + ".example", host.host + ".localhost", "127.0.0.1.nip.io",
	} {
		requests = append(requests, "CONNECT "+name+":"+ownPort, "GET "+name+":"+ownPort)
	}
	for _, name := range []string{"169.254.169.254", "2852039166", "0xa9fea9fe", "169.254.43518", "[::ffff:169.254.169.254]", "metadata.google.internal", "other.example"} {
		requests = append(requests, "CONNECT "+name+":80", "GET "+name+":80")
	}
	plain := newStandIn(t, false)
	requests = append(requests, "SOCKS "+allowed, "BYTES "+allowed, "SNI "+allowed+" other.example", "UPGRADE "+allowed, "PLAINUPGRADE "+net.JoinHostPort(plain.host, plain.port))

	c := newTestbed(t, plainModel)
	c.trust(host)
	c.networks = map[string]codex.Network{"setup": {Hosts: []string{host.host}, Private: true}}
	s := c.connect(true)
	defer c.close(s)
	address := "https://" + allowed
	mustSay(t, c.bash(s, "setup", fetch(t, "GET "+address+"/works")), "GET "+address+"/works 200") // or the rest shows nothing
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "QUERY"} {
		if got := c.bash(s, "setup", fetch(t, method+" "+address+"/raided")); strings.Contains(got, " 200 ") {
			t.Errorf("%s passes:\n%s", method, got)
		}
	}
	if got := c.bash(s, "setup", fetch(t, "GET "+address+"/raided other.example")); strings.Contains(got, " 200 ") {
		t.Errorf("another host in the tunnel passes:\n%s", got)
	}
	output := c.bash(s, "setup", rawly(t, requests...))
	if got := strings.Count(output, " -> "); got != len(requests) || !strings.Contains(output, " 403 ") {
		t.Errorf("%d of %d requests were sent, so this shows nothing:\n%s", got, len(requests), output)
	}
	for line := range strings.Lines(output) {
		if strings.Contains(line, " 101 ") || strings.Contains(line, " 200 ") && !strings.Contains(line, "UPGRADE") || strings.Contains(line, `-> "\x05\x00\x05\x00`) {
			t.Errorf("it passes: %s", line)
		}
	}
	if seen := host.requests(); !slices.Equal(seen, []string{"GET " + allowed + "/works", "GET " + allowed + "/upgrade"}) { // without the upgrade
		t.Errorf("the host has seen %q", seen)
	}
}

// TestRaidUsesTheNetworkOfAProgram has a turn, which has no hosts, try to use the network that
// a program of the host has at the same time: by its variables, and by a socket of the proxy,
// which Codex could leave where commands can read it.
func TestRaidUsesTheNetworkOfAProgram(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	host := newStandIn(t, true)
	address := "https://" + net.JoinHostPort(host.host, host.port)
	eachModel(t, func(t *testing.T, model string) {
		c := newTestbed(t, model)
		c.trust(host)
		c.networks = map[string]codex.Network{"setup": {Hosts: []string{host.host}, Private: true}}
		s := c.connect(true)
		defer c.close(s)
		if err := s.OpenThread(t.Context()); err != nil {
			t.Fatal(err)
		}
		held := make(chan string, 1)
		go func() {
			held <- c.bash(s, "setup", fetch(t, "GET "+address+"/works")+"\nenv >variables; mv variables of-the-program; until [ -e turned ]; do sleep 0.05; done; "+fetch(t, "GET "+address+"/still"))
		}()
		output := c.turn(s, `until [ -e of-the-program ]; do sleep 0.05; done; set -a; . <(grep -iE '^[a-z_]*(proxy|SYMPHONY_NETWORK|SSL_CERT_FILE)=' of-the-program); set +a
`+fetch(t, "GET "+address+"/raided")+`; find . "$TMPDIR" /tmp /var/tmp /dev/shm -type s -path '*proxy*' 2>/dev/null | sed 's/^/socket: /'; touch turned`)
		program := <-held
		mustSay(t, program, "GET "+address+"/works 200", "GET "+address+"/still 200")
		if strings.Contains(output, " 200 ") || strings.Contains(output, "socket: ") || !strings.Contains(output, "/raided failed") {
			t.Errorf("it was reached, or not tried:\n%s", output)
		}
		if got := c.bash(s, "", "export SYMPHONY_NETWORK=full; "+fetch(t, "GET "+address+"/raided")); strings.Contains(got, " 200 ") {
			t.Errorf("a program in the network of the turns reaches it:\n%s", got)
		}
	})
	if slices.ContainsFunc(host.requests(), func(r string) bool { return strings.Contains(r, "raided") }) {
		t.Errorf("it arrived: %q", host.requests())
	}
}

// TestRaidTakesTheKeyOfTheProxy looks in everything that can be read for the key with which the
// proxy pretends to be a host, and tries to give clients other certificates.
func TestRaidTakesTheKeyOfTheProxy(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	c := newTestbed(t, plainModel)
	c.network = codex.Network{Hosts: []string{"registry.example"}}
	output := c.run(codex.Config{}, `grep -c BEGIN "$SSL_CERT_FILE"; grep -h 'PRIVATE KEY' "$SSL_CERT_FILE"; ls "$CODEX_HOME/proxy" `+c.path("homes/own/proxy")+`
echo raided >>"$SSL_CERT_FILE"; rm -f "$SSL_CERT_FILE"; echo raided >new; mv -f new "$SSL_CERT_FILE"`)
	saved := c.read("temp/certificates.pem")
	if strings.Count(saved, "BEGIN CERTIFICATE") != 1 || strings.Contains(saved, "PRIVATE KEY") || strings.Contains(saved, "raided") {
		t.Errorf("the certificates: %.300s\n%s", saved, output)
	}
	if strings.Contains(output, "PRIVATE") || strings.Count(output, "Permission denied") != 2 {
		t.Errorf("it can be read:\n%s", output)
	}
}
