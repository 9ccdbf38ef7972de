package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"

	"github.com/symphony-runner/symphony/internal/text"
)

// Greeting is the answer to a request for a page of the proxy itself, with a newline, so that a
// program finds out whom it has reached.
const Greeting = "the proxy of symphony"

// Rules says which requests pass. Its zero value lets none pass.
type Rules struct {
	Hosts   []string // exact names
	Private bool     // the names may stand for private addresses
	Full    bool     // every method and protocol, unread; otherwise GET, HEAD and OPTIONS, read by the proxy
}

// Proxy passes requests on to the hosts of its rules. It may serve several commands at once.
type Proxy struct {
	full     bool                                   // Rules.Full
	hosts    map[string]func() (*tls.Config, error) // the settings for reading a tunnel, by the name of the host
	upstream *upstream
	forward  httputil.ReverseProxy
}

// New returns a proxy. roots are the authorities that sign the certificates of hosts; nil trusts the
// authorities of the system. The authority is not used if the rules let everything pass unread.
func New(rules Rules, authority *Authority, roots *x509.CertPool) *Proxy {
	p := &Proxy{full: rules.Full, hosts: map[string]func() (*tls.Config, error){}, upstream: newUpstream(rules.Private, roots)}
	for _, host := range rules.Hosts {
		host = lower(host)
		p.hosts[host] = sync.OnceValues(func() (*tls.Config, error) { return tunnelConfig(authority, host) })
	}
	p.forward = httputil.ReverseProxy{
		Transport: p.upstream, Rewrite: p.rewrite,
		ModifyResponse: func(answer *http.Response) error {
			maps.DeleteFunc(answer.Header, isOfProxy)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) { sayFailure(w, r.URL.Hostname(), err) },
		BufferPool:   new(buffers), ErrorLog: log.New(io.Discard, "", 0),
	}
	return p
}

// Close closes idle connections to hosts.
func (p *Proxy) Close() { p.upstream.close() }

// tunnelConfig returns the settings for reading a tunnel to a host. No other name gets a
// certificate.
func tunnelConfig(authority *Authority, host string) (*tls.Config, error) {
	leaf, err := authority.leaf(host)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{leaf}, NextProtos: []string{"http/1.1"},
		// These bytes stay on the machine: large records, and the fastest exchange of keys.
		DynamicRecordSizingDisabled: true, CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) { // also called if a session is resumed
			if hello.ServerName != "" && lower(hello.ServerName) != host {
				return nil, errors.New("the server name is not the host of the tunnel")
			}
			return nil, nil
		},
	}, nil
}

// rewrite removes from a request all that may not reach a host. net/http/httputil has removed
// the headers that concern one connection, unless they ask for an upgrade. It passes an answer 101 on
// only if the request as it is sent asks for that.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.RawQuery = r.In.URL.RawQuery // as it was, for a host that reads queries in another way
	maps.DeleteFunc(r.Out.Header, isOfProxy)
	if p.full {
		return
	}
	for _, name := range []string{"Connection", "Upgrade", "Expect", "Te"} {
		r.Out.Header.Del(name)
	}
	r.Out.Body, r.Out.ContentLength, r.Out.TransferEncoding, r.Out.Trailer = nil, 0, nil, nil
}

// isOfProxy reports whether a header is for a proxy.
func isOfProxy(name string, _ []string) bool { return strings.HasPrefix(name, "Proxy-") }

// sayFailure tells a client why a host does not answer it.
func sayFailure(w http.ResponseWriter, host string, err error) {
	if refused, ok := errors.AsType[*addressError](err); ok {
		say(w, http.StatusForbidden, "the host %s is refused: %v", host, refused)
		return
	}
	say(w, http.StatusBadGateway, "the host %s gives no answer: %s", host, text.OneLine(err.Error(), maxCause))
}

// say answers with one sentence.
func say(w http.ResponseWriter, status int, format string, args ...any) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, "symphony: "+format+"\n", args...)
}

// split returns the two parts of HOST:PORT, and an empty port if there is none. It takes nothing
// else off the name, such as brackets.
func split(authority string) (host, port string) {
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		return authority[:i], authority[i+1:]
	}
	return authority, ""
}

// lower returns a name with small ASCII letters. Other letters stay as they are, so that none of
// them becomes an ASCII letter.
func lower(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, name)
}

// buffers are the buffers for bodies of answers.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[]byte); ok {
		return *buffer
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }

// finalOnly passes no answers on that come before the final one.
type finalOnly struct{ http.ResponseWriter }

func (w finalOnly) WriteHeader(status int) {
	if status >= http.StatusOK {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w finalOnly) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// tunnelKey is the key of the tunnel in the context of a request in it.
type tunnelKey struct{}

func withTunnel(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, tunnelKey{}, c.(*tls.Conn).NetConn())
}
