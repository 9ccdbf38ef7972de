package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const host = "registry.example" // the host that the rules of these tests name

var loopback = netip.MustParseAddr("127.0.0.1")

// resolver returns a resolver that knows the addresses of all names.
func resolver(addresses func() []netip.Addr) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go answerQuestions(server, addresses)
		return client, nil
	}}
}

// answerQuestions answers the questions of a resolver, in the form that they have on a stream.
func answerQuestions(c net.Conn, addresses func() []netip.Addr) {
	defer c.Close()
	for {
		var length [2]byte
		if _, err := io.ReadFull(c, length[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(c, question); err != nil {
			return
		}
		end := 12 // of the name
		for question[end] != 0 {
			end += int(question[end]) + 1
		}
		kind := binary.BigEndian.Uint16(question[end+1:])
		answer := append(question[:2:2], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0)
		answer = append(answer, question[12:end+5]...)
		for _, a := range addresses() {
			if a.Is4() == (kind == 1) {
				answer[7]++
				answer = append(answer, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(a.BitLen()/8))
				answer = append(answer, a.AsSlice()...)
			}
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// origin is a server of the test that stands in for the host.
type origin struct {
	*httptest.Server
	roots       *x509.CertPool
	connections atomic.Int32

	mu   sync.Mutex
	seen []string // the requests: method, host and path
}

// newOrigin starts a server. encrypted is the protocols that it offers in TLS; none for no TLS.
func newOrigin(t testing.TB, answer http.HandlerFunc, encrypted ...string) *origin {
	t.Helper()
	o := &origin{roots: x509.NewCertPool()}
	o.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.seen = append(o.seen, r.Method+" "+r.Host+r.URL.Path)
		o.mu.Unlock()
		answer(w, r)
	}))
	o.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			o.connections.Add(1)
		}
	}
	if len(encrypted) == 0 {
		o.Start()
	} else {
		authority, err := NewAuthority()
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := authority.leaf(host)
		if err != nil {
			t.Fatal(err)
		}
		o.roots.AppendCertsFromPEM(authority.PEM())
		o.TLS = &tls.Config{Certificates: []tls.Certificate{leaf}, NextProtos: encrypted}
		o.Config.ErrorLog = log.New(io.Discard, "", 0)
		o.EnableHTTP2 = slices.Contains(encrypted, "h2")
		o.StartTLS()
	}
	t.Cleanup(o.Close)
	return o
}

func hello(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello from the host") }

// port returns the port of the server.
func (o *origin) port() string {
	_, port, _ := net.SplitHostPort(o.Listener.Addr().String()) // it is well formed
	return port
}

// url returns the URL of a page of the host.
func (o *origin) url(path string) string {
	scheme := "http"
	if o.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + host + ":" + o.port() + path
}

func (o *origin) requests() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.seen)
}

// served is a proxy that serves one command.
type served struct {
	*Proxy
	t         testing.TB
	authority *Authority
	listener  net.Listener
	ended     chan struct{} // closed when Serve has returned

	mu   sync.Mutex
	seen []string // the hosts that were refused
}

var private = Rules{Hosts: []string{host}, Private: true}

// serve starts a proxy for which all names are this machine. Its operator has no proxy.
func serve(t testing.TB, rules Rules, roots *x509.CertPool, changes ...func(*upstream)) *served {
	t.Helper()
	authority, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	s := &served{Proxy: New(rules, authority, roots), t: t, authority: authority}
	s.upstream.resolver = resolver(func() []netip.Addr { return []netip.Addr{loopback} })
	s.upstream.operator = func(*http.Request) (*url.URL, error) { return nil, nil }
	for _, change := range changes {
		change(s.upstream)
	}
	t.Cleanup(s.Close)
	return s.another()
}

// another returns the same proxy, which serves another command.
func (s *served) another() *served {
	s.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	other := &served{Proxy: s.Proxy, t: s.t, authority: s.authority, listener: listener, ended: make(chan struct{})}
	go func() {
		defer close(other.ended)
		other.Serve(listener, func(host string) {
			other.mu.Lock()
			defer other.mu.Unlock()
			other.seen = append(other.seen, host)
		})
	}()
	s.t.Cleanup(other.end)
	return other
}

// end ends the command.
func (s *served) end() {
	s.listener.Close()
	<-s.ended
}

// refusedHosts returns the hosts that were refused, each once.
func (s *served) refusedHosts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(s.seen)))
}

// trusted returns the authorities that a client of the proxy trusts.
func (s *served) trusted() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.authority.PEM())
	return pool
}

// client returns a client that uses the proxy.
func (s *served) client(http2 bool) *http.Client {
	transport := &http.Transport{
		Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: s.listener.Addr().String()}),
		TLSClientConfig: &tls.Config{RootCAs: s.trusted()}, ForceAttemptHTTP2: http2, DisableCompression: true, MaxIdleConnsPerHost: 100,
	}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// get returns the status and the body of an answer, or the error.
func get(client *http.Client, method, url string, change ...func(*http.Request)) string {
	request, err := http.NewRequest(method, url, nil)
	if err != nil {
		return err.Error()
	}
	for _, c := range change {
		c(request)
	}
	answer, err := client.Do(request)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", answer.StatusCode, body)
}

// dial returns a connection to the proxy.
func (s *served) dial() net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

// connect returns a connection for which the proxy has accepted a CONNECT.
func (s *served) connect(authority string) net.Conn {
	s.t.Helper()
	c := s.dial()
	if said := ask(c, "CONNECT "+authority+" HTTP/1.1\r\nHost: "+authority+"\r\n\r\n"); said != "200 " {
		s.t.Fatalf("CONNECT %s: %s", authority, said)
	}
	return c
}

// ask sends the text of a request, and returns the status and the body of the answer, or the
// error. It reads none of what follows.
func ask(c net.Conn, request string) string {
	if _, err := io.WriteString(c, request); err != nil {
		return err.Error()
	}
	method, _, _ := strings.Cut(request, " ")
	answer, err := http.ReadResponse(bufio.NewReaderSize(oneByte{c}, 16), &http.Request{Method: method})
	if err != nil {
		return err.Error()
	}
	if method == http.MethodConnect && answer.StatusCode == http.StatusOK {
		return "200 " // the rest is the tunnel
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", answer.StatusCode, body)
}

// oneByte reads one byte at a time, so that a buffer takes nothing of what follows.
type oneByte struct{ io.Reader }

func (r oneByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), 1)]) }
