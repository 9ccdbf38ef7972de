package proxy

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// These are attacks of a command. The named host has a private address, so nothing but its name
// is what the proxy goes by.

// spellings returns names that are not the named host: this machine, a cloud's metadata, and
// texts that another reader could take for the named host.
func spellings() []string {
	return []string{
		"127.0.0.1", "localhost", "LOCALHOST", "localhost.", "a.localhost", "2130706433", "127.1", "0x7f000001", "0177.0.0.1", "0.0.0.0", "0",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "127.0.0.1.nip.io",
		"169.254.169.254", "2852039166", "0xa9fea9fe", "169.254.43518", "[::ffff:169.254.169.254]", "[fd00:ec2::254]", "metadata.google.internal", "other.example",
		host + ".", "." + host, "other." + host, host + ".example", host + ".localhost", host + "..", "registry\u3002example", "registry.\u0435xample", "registry.exam\u217cple", "reg\u0130stry.example", "regi\u017ftry.example",
	}
}

func TestOtherHostsAreRefused(t *testing.T) {
	t.Parallel()
	own := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("this machine was reached: %s", r.Host) }))
	defer own.Close()
	_, port, _ := net.SplitHostPort(own.Listener.Addr().String())
	for _, full := range []bool{false, true} {
		rules := private
		rules.Full = full
		s := serve(t, rules, nil)
		for _, name := range spellings() {
			for _, request := range []string{
				"CONNECT " + name + ":" + port + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n",
				"GET http://" + name + ":" + port + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n",
				"GET http://" + host + "@" + name + ":" + port + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n",
			} {
				want := "403 symphony: the host " + name + " is not one that this command may reach: a person can name it under the key network in WORKFLOW.md\n"
				if got := ask(s.dial(), request); got != want {
					t.Errorf("%q: %q", request, got)
				}
			}
		}
		if got := s.refusedHosts(); !slices.Equal(got, slices.Sorted(slices.Values(spellings()))) {
			t.Errorf("reported: %q", got)
		}
	}
}

// TestRequestsThatAreNoneAreRefused has requests that name no host, or that another reader could
// take for one of the named host.
func TestRequestsThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("it was reached: %s %s", r.Method, r.RequestURI)
	})
	s := serve(t, private, nil)
	named := host + ":" + o.port()
	for _, start := range []string{
		"CONNECT " + host, "CONNECT " + host + ":", "CONNECT /" + named, "CONNECT :80", "CONNECT http://" + named, "CONNECT x@" + named, "CONNECT [" + host + "]:" + o.port(),
		"CONNECT registry%2eexample:" + o.port(), "CONNECT " + host + ":http", "CONNECT " + host + ":-1", "CONNECT " + named + ":1", "CONNECT *", "CONNECT " + host + "\x00:80",
		"GET https://" + named + "/", "GET ftp://" + named + "/", "GET http:///", "GET http://[" + host + "]:" + o.port() + "/", "GET registry.example:80", "GET *", "OPTIONS *", "GET http:" + named,
		"GET http://" + host + "%00:" + o.port() + "/", "PRI *",
		"POST http://" + named + "/", "PUT http://" + named + "/", "TRACE http://" + named + "/", "get http://" + named + "/", "PURGE http://" + named + "/",
	} {
		got := ask(s.dial(), start+" HTTP/1.1\r\nHost: "+named+"\r\n\r\n")
		if !strings.HasPrefix(got, "400 ") && !strings.HasPrefix(got, "403 ") && !strings.HasPrefix(got, "405 ") {
			t.Errorf("%q: %q", start, got)
		}
	}
	for _, bytes := range []string{"\x05\x01\x00", "\x16\x03\x01\x00\x05hello", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "GET http://" + named + "/ HTTP/1.1\r\n\r\n", "GET http://" + named + "/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"} {
		c := s.dial()
		io.WriteString(c, bytes)
		c.(*net.TCPConn).CloseWrite()
		if answer, err := io.ReadAll(c); err != nil || len(answer) > 0 && !strings.HasPrefix(string(answer), "HTTP/1.1 4") && !strings.HasPrefix(string(answer), "HTTP/1.1 505 ") {
			t.Errorf("%q: %q, %v", bytes, answer, err)
		}
	}
}

func TestALongNameIsReportedInPart(t *testing.T) {
	t.Parallel()
	s := serve(t, private, nil)
	long := strings.Repeat("a", 1000) + ".example"
	got := ask(s.dial(), "CONNECT "+long+":443 HTTP/1.1\r\nHost: x\r\n\r\n")
	if reported := s.refusedHosts(); len(got) > 400 || len(reported) != 1 || reported[0] != long[:maxName] {
		t.Errorf("%q; reported: %q", got, reported)
	}
}

func TestOtherMethodsAreRefused(t *testing.T) {
	t.Parallel()
	clear, encrypted := newOrigin(t, hello), newOrigin(t, hello, "h2", "http/1.1")
	s := serve(t, private, encrypted.roots)
	full := private
	full.Full = true
	unread := serve(t, full, nil)
	for _, o := range []*origin{clear, encrypted} {
		for _, http2 := range []bool{false, true} {
			client := s.client(http2)
			for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "TRACE", "QUERY", "PURGE", "get", "CONNECT"} {
				if o == clear && method == "CONNECT" {
					continue // a request for a tunnel
				}
				got := get(client, method, o.url("/"))
				if want := "403 symphony: only GET, HEAD and OPTIONS pass to registry.example: a person can write network_mode: full beside the key network in WORKFLOW.md\n"; got != want && method != "CONNECT" || strings.HasPrefix(got, "200") {
					t.Errorf("%s: %q", method, got)
				}
			}
			for _, method := range []string{"GET", "OPTIONS"} {
				if got := get(client, method, o.url("/")); got != "200 hello from the host" {
					t.Errorf("%s: %q", method, got)
				}
			}
		}
	}
	if got := get(unread.client(false), "POST", clear.url("/")); got != "200 hello from the host" {
		t.Errorf("POST in the full mode: %q", got)
	}
	for _, o := range []*origin{clear, encrypted} {
		for _, r := range o.requests() {
			if method, _, _ := strings.Cut(r, " "); !slices.Contains(passing, method) && r != "POST "+host+":"+clear.port()+"/" {
				t.Errorf("it was reached: %s", r)
			}
		}
	}
}

// secure returns a connection in TLS through a tunnel to the host.
func (s *served) secure(o *origin, name string, protocols ...string) (*tls.Conn, error) {
	c := tls.Client(s.connect(host+":"+o.port()), &tls.Config{ServerName: name, RootCAs: s.trusted(), NextProtos: protocols, InsecureSkipVerify: name != host})
	return c, c.Handshake()
}

func TestATunnelLeadsToItsHostAlone(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, hello, "h2")
	s := serve(t, private, o.roots)
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: registry.example\r\n\r\n":                                             "200 hello from the host",
		"GET / HTTP/1.1\r\nHost: REGISTRY.example:" + o.port() + "\r\n\r\n":                            "200 hello from the host",
		"GET / HTTP/1.0\r\nHost: registry.example\r\n\r\n":                                             "200 hello from the host",
		"GET http://registry.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n":                         "200 hello from the host",
		"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n":                                                "400 ",
		"GET / HTTP/1.1\r\nHost: registry.example.\r\n\r\n":                                            "400 ",
		"GET / HTTP/1.1\r\nHost: registry.example:1\r\n\r\n":                                           "400 ",
		"GET / HTTP/1.1\r\nHost: x@registry.example\r\n\r\n":                                           "400 ",
		"GET / HTTP/1.1\r\nHost:\r\n\r\n":                                                              "400 ",
		"GET / HTTP/1.1\r\n\r\n":                                                                       "400 ",
		"GET / HTTP/1.0\r\n\r\n":                                                                       "400 ",
		"GET / HTTP/1.1\r\nHost: registry.example\r\nHost: other.example\r\n\r\n":                      "400 ",
		"GET https://other.example/ HTTP/1.1\r\nHost: registry.example\r\n\r\n":                        "400 ",
		"CONNECT other.example:443 HTTP/1.1\r\nHost: registry.example\r\n\r\n":                         "400 ",
		"CONNECT registry.example:" + o.port() + " HTTP/1.1\r\nHost: registry.example\r\n\r\n":         "403 ",
		"CONNECT /x HTTP/1.1\r\nHost: registry.example\r\n\r\n":                                        "403 ",
		"GET / HTTP/1.1\r\nHost: registry.example\r\nTransfer-Encoding: x\r\n\r\n":                     "501 ",
		"GET / HTTP/1.1\r\nHost: registry.example\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab": "400 ",
	} {
		c, err := s.secure(o, host)
		if err != nil {
			t.Fatal(err)
		}
		if got := ask(c, request); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", request, got, want)
		}
	}
	for _, http2 := range []bool{false, true} {
		got := get(s.client(http2), "GET", o.url("/"), func(r *http.Request) { r.Host = "other.example" })
		if got != "400 symphony: the request names another host than its tunnel, which leads to registry.example\n" {
			t.Errorf("%v: %q", http2, got)
		}
	}
	for _, r := range o.requests() {
		if !strings.HasPrefix(strings.ToLower(r), "get registry.example") {
			t.Errorf("it was reached: %s", r)
		}
	}
	if refused := s.refusedHosts(); refused != nil {
		t.Errorf("reported: %q", refused)
	}
}

func TestOnlyTheHostOfTheTunnelHasACertificate(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, hello, "h2")
	rules := private
	rules.Hosts = []string{host, "Second.example"}
	s := serve(t, rules, o.roots)
	for _, name := range []string{"other.example", "second.example", "127.0.0.1", "", "REGISTRY.EXAMPLE"} {
		c, err := s.secure(o, name)
		isFine := net.ParseIP(name) != nil || name == "" || strings.EqualFold(name, host) // a client names no address
		if (err == nil) != isFine {
			t.Errorf("%q: %v", name, err)
		}
		for _, certificate := range c.ConnectionState().PeerCertificates {
			if names := fmt.Sprint(certificate.DNSNames, certificate.IPAddresses, certificate.IsCA); names != "["+host+"] [] false" {
				t.Errorf("%q has a certificate of %s", name, names)
			}
		}
	}
	sessions := tls.NewLRUClientSessionCache(1) // with the session of the one for the other
	for _, name := range []string{host, "other.example"} {
		c := tls.Client(s.connect(host+":"+o.port()), &tls.Config{ServerName: name, RootCAs: s.trusted(), ClientSessionCache: oneSession{sessions}, InsecureSkipVerify: true})
		got := ask(c, "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
		if isFine := name == host; isFine != (got == "200 hello from the host") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := s.secure(o, host, "spdy/1"); err == nil {
		t.Error("another protocol is accepted")
	}
}

// oneSession gives every host the same session.
type oneSession struct{ tls.ClientSessionCache }

func (o oneSession) Get(string) (*tls.ClientSessionState, bool) { return o.ClientSessionCache.Get("") }

func (o oneSession) Put(_ string, state *tls.ClientSessionState) { o.ClientSessionCache.Put("", state) }

func TestBytesInATunnelThatAreNotTLSEndIt(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, hello, "h2")
	s := serve(t, private, o.roots)
	for _, bytes := range []string{"GET / HTTP/1.1\r\nHost: registry.example\r\n\r\n", "SSH-2.0-x\r\n", "\x05\x01\x00", "\x16\x03\x01\x00\x05hello", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"} {
		c := s.connect(host + ":" + o.port())
		io.WriteString(c, bytes)
		c.(*net.TCPConn).CloseWrite()
		answer, err := io.ReadAll(c)
		if err != nil || strings.Contains(string(answer), " 200 ") {
			t.Errorf("%q: %q, %v", bytes, answer, err)
		}
	}
	if n := o.connections.Load(); n != 0 {
		t.Errorf("the host has %d connections", n)
	}
}

// TestNoConnectionChangesItsProtocol has hosts that upgrade each connection, asked or not.
func TestNoConnectionChangesItsProtocol(t *testing.T) {
	t.Parallel()
	upgrade := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			t.Errorf("Upgrade passes: %v", r.Header)
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"+r.Header.Get("X-Answer")+": Upgrade\r\n\r\n")
		if read, _ := io.ReadAll(c); len(read) > 0 {
			t.Errorf("the host reads %q", read)
		}
	}
	clear, encrypted := newOrigin(t, upgrade), newOrigin(t, upgrade, "http/1.1")
	s := serve(t, private, encrypted.roots)
	for _, o := range []*origin{clear, encrypted} {
		for _, asked := range []string{"", "Connection: Upgrade\r\nUpgrade: websocket\r\n", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n", "Connection: Upgrade\r\nUpgrade: \x80\r\n"} {
			for _, answered := range []string{"X-Answer: Other\r\n", "X-Answer: Connection\r\n"} {
				var c net.Conn = s.dial()
				target := o.url("/")
				if o == encrypted {
					var err error
					if c, err = s.secure(o, host); err != nil {
						t.Fatal(err)
					}
					target = "/"
				}
				got := ask(c, "GET "+target+" HTTP/1.1\r\nHost: "+host+":"+o.port()+"\r\n"+asked+answered+"\r\n")
				if !strings.HasPrefix(got, "502 ") && !strings.HasPrefix(got, "400 ") {
					t.Errorf("%q: %q", asked, got)
				}
			}
		}
	}
}

// TestEarlyAnswersDoNotPass has a host that sends answers before the final one.
func TestEarlyAnswersDoNotPass(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</x>")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		fmt.Fprint(w, "hello")
	}, "h2", "http/1.1")
	s := serve(t, private, o.roots)
	c, err := s.secure(o, host)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host)
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || line != "HTTP/1.1 200 OK\r\n" {
		t.Errorf("%q, %v", line, err)
	}
}

// TestUpgradesPassInTheFullMode shows that the rules are those of the limited mode alone.
func TestUpgradesPassInTheFullMode(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", r.Header.Get("Upgrade"))
		w.WriteHeader(http.StatusSwitchingProtocols)
		c, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		io.Copy(c, buffered)
	})
	full := private
	full.Full = true
	s := serve(t, full, nil)
	c := s.dial()
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n", o.url("/"))
	reader := bufio.NewReader(c)
	answer, err := http.ReadResponse(reader, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols || answer.Header.Get("Upgrade") != "echo" {
		t.Fatalf("%+v, %v", answer, err)
	}
	fmt.Fprintln(c, "hello")
	if line, err := reader.ReadString('\n'); line != "hello\n" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	s.end() // ends the connection, too
	if _, err := reader.ReadByte(); err == nil {
		t.Error("the connection is open when the command has ended")
	}
}
