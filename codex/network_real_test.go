package codex_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/codextest"
)

// standIn is a server of the test on this machine, with a certificate for this machine's name.
// It stands in for an allowed host with a private address.
type standIn struct {
	host, port  string
	certificate string // PEM, of its own authority

	mu   sync.Mutex
	seen []string // the requests: method, host and path
}

// newStandIn starts a server, and skips the test on a machine whose name is not one of its own
// addresses.
func newStandIn(t *testing.T, encrypted bool) *standIn {
	t.Helper()
	name, err := os.Hostname()
	if err != nil || strings.HasPrefix(name, "localhost") {
		t.Skipf("this machine has no name: %v", err)
	}
	addresses, err := net.LookupHost(name)
	if err != nil {
		t.Skipf("the name of this machine, %s, is not known: %v", name, err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(addresses[0], "0"))
	if err != nil {
		t.Skipf("the name of this machine, %s, is not its own address: %v", name, err)
	}
	s := &standIn{host: name}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen = append(s.seen, r.Method+" "+r.Host+r.URL.Path)
		if r.Header.Get("Upgrade") != "" {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "websocket")
			w.WriteHeader(http.StatusSwitchingProtocols)
			return
		}
		fmt.Fprint(w, "hello from the host")
	}))
	server.Listener.Close()
	server.Listener = listener
	_, s.port, _ = net.SplitHostPort(listener.Addr().String())
	if encrypted {
		var certificate tls.Certificate
		certificate, s.certificate = newCertificate(t, name)
		server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return s
}

// newCertificate returns a certificate for a name, and its authority as PEM.
func newCertificate(t *testing.T, name string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		Subject: pkix.Name{CommonName: "authority of a test"}, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: authority.NotBefore, NotAfter: authority.NotAfter, DNSNames: []string{name}, KeyUsage: x509.KeyUsageDigitalSignature}
	var signed [2][]byte
	for i, template := range []*x509.Certificate{authority, leaf} {
		if signed[i], err = x509.CreateCertificate(rand.Reader, template, authority, key.Public(), key); err != nil {
			t.Fatal(err)
		}
	}
	return tls.Certificate{Certificate: [][]byte{signed[1]}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed[0]}))
}

// requests returns what the server has seen.
func (s *standIn) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// fetchThese is the environment variable that makes TestHelperFetches send requests.
const fetchThese = "FETCH_THESE"

// TestHelperFetches sends requests of the form METHOD URL [HOST], separated by commas.
func TestHelperFetches(t *testing.T) {
	these := os.Getenv(fetchThese)
	if these == "" {
		t.Skip("it is a program that an agent runs")
	}
	for line := range strings.SplitSeq(these, ",") {
		words := strings.Fields(line)
		request, err := http.NewRequest(words[0], words[1], nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(words) > 2 {
			request.Host = words[2]
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			fmt.Println(line, "failed:", err)
			continue
		}
		text, _ := io.ReadAll(answer.Body) // what has arrived is shown
		answer.Body.Close()
		fmt.Println(line, answer.StatusCode, strings.TrimSpace(string(text)))
	}
}

// fetch returns a command that sends requests.
func fetch(t *testing.T, these ...string) string {
	t.Helper()
	return fmt.Sprintf("%s='%s' '%s' -test.run '^TestHelperFetches$' -test.v", fetchThese, strings.Join(these, ","), self(t))
}

// bash runs a script in a network of the session.
func (c *testbed) bash(s testSession, network, script string) string {
	c.t.Helper()
	var out bytes.Buffer
	_, err := s.Exec(c.t.Context(), codex.Exec{
		Argv: []string{"bash", "-c", "exec 2>&1\n" + script}, Env: []string{"BASH_ENV=" + c.path("temp/start.sh")},
		Network: network, Stdout: &out, Timeout: time.Minute,
	})
	if err != nil {
		c.t.Errorf("%s: %v", script, err)
	}
	return out.String()
}

// mustSay fails the test unless the output has the texts, each of which a line of it begins with.
func mustSay(t *testing.T, output string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains("\n"+output, "\n"+text) {
			t.Errorf("it does not say %q:\n%s", text, output)
		}
	}
}

// trust has a testbed trust the certificate of a server.
func (c *testbed) trust(host *standIn) {
	c.write("authority.pem", host.certificate)
	c.roots = x509.NewCertPool()
	c.roots.AppendCertsFromPEM([]byte(host.certificate))
}

// TestAProgramReachesTheHostsOfItsNetwork has three networks beside that of the turns, which
// has no hosts.
func TestAProgramReachesTheHostsOfItsNetwork(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	host := newStandIn(t, true)
	url := "https://" + host.host + ":" + host.port
	for name, asArguments := range map[string]bool{"config.toml": false, "arguments": true} {
		t.Run(name, func(t *testing.T) {
			c := newTestbed(t, plainModel)
			c.trust(host)
			c.networks = map[string]codex.Network{
				"setup": {Hosts: []string{host.host}, Private: true},
				"full":  {Hosts: []string{host.host}, Private: true, Full: true},
				"other": {Hosts: []string{"other.example"}},
			}
			s := c.connect(asArguments)
			defer c.close(s)
			mustSay(t, c.bash(s, "setup", fetch(t, "GET "+url+"/setup")), "GET "+url+"/setup 200 hello")
			full := c.bash(s, "full", "export SSL_CERT_FILE="+c.path("authority.pem")+"; "+fetch(t, "POST "+url+"/full"))
			mustSay(t, full, "POST "+url+"/full 200 hello")
			mustSay(t, c.bash(s, "other", fetch(t, "GET "+url+"/denied")), "GET "+url+"/denied failed: Get \""+url+"/denied\": Forbidden")
			mustSay(t, c.bash(s, "", fetch(t, "GET "+url+"/denied")), "GET "+url+"/denied failed: ")
			mustSay(t, c.bash(s, "", "env | grep -i _proxy= || echo none"), "none")
			own := fmt.Sprintf("%s=1 '%s' -test.run '^TestHelperServes$' -test.v", serveHere, os.Args[0])
			for _, network := range []string{"setup", "full", "other", ""} {
				mustSay(t, c.bash(s, network, own), "served hello")
			}
			if seen := host.requests(); slices.ContainsFunc(seen, func(r string) bool { return strings.Contains(r, "denied") }) {
				t.Errorf("it was reached: %q", seen)
			}
			if _, err := s.Exec(t.Context(), codex.Exec{Argv: []string{"true"}, Network: "unknown"}); !errors.Is(err, codex.ErrExecStart) {
				t.Errorf("a network that is not there: %v", err)
			}
		})
	}
}

// TestATurnReachesTheHostsOfItsNetwork asks for its host, and then for hosts that the network does
// not name, by an encrypted and by a plain request, which are reported.
func TestATurnReachesTheHostsOfItsNetwork(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	host := newStandIn(t, true)
	url := "https://" + host.host + ":" + host.port
	eachModel(t, func(t *testing.T, model string) {
		c := newTestbed(t, model)
		c.trust(host)
		c.network = codex.Network{Hosts: []string{host.host}, Private: true}
		s := c.open(codex.Config{}, "")
		defer c.close(s)
		if output := c.turn(s, fetch(t, "GET "+url+"/")); !strings.Contains(output, "GET "+url+"/ 200 hello") {
			t.Errorf("%s", output)
		}
		command := fetch(t, "GET https://other.example/", "GET http://second.example/")
		c.say(command, nil)
		if _, err := s.Turn(t.Context(), codex.Input{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		events, _ := c.seen()
		for _, e := range events {
			for _, b := range e.Blocked {
				found[b.Host] = b.Command == command
			}
		}
		if !found["other.example"] && !found["second.example"] { // Codex names one, and the answer to a plain request its own
			t.Errorf("%v", found)
		}
		for host, whole := range found {
			if !whole {
				t.Errorf("%s is reported without its command", host)
			}
		}
	})
}

// TestJavaReachesTheHostsOfItsNetwork has both of the clients that Java comes with.
func TestJavaReachesTheHostsOfItsNetwork(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	if _, err := exec.LookPath("javac"); err != nil {
		t.Skip(err)
	}
	host := newStandIn(t, true)
	c := newTestbed(t, plainModel)
	c.trust(host)
	c.networks = map[string]codex.Network{"setup": {Hosts: []string{host.host}, Private: true}}
	s := c.connect(true)
	defer c.close(s)
	c.write("workspaces/own/Fetch.java", `import java.net.*; import java.net.http.*;
public class Fetch {
  public static void main(String[] args) throws Exception {
    System.out.println("connection " + ((HttpURLConnection) new URL(args[0]).openConnection()).getResponseCode());
    var request = HttpRequest.newBuilder(URI.create(args[0])).build();
    System.out.println("client " + HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).statusCode());
  }
}`)
	url := "https://" + net.JoinHostPort(host.host, host.port) + "/"
	mustSay(t, c.bash(s, "setup", "bash -c 'java Fetch.java "+url+"'"), "connection 200", "client 200")
}
