package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// The bounds of connections to hosts.
const (
	dialTime      = 30 * time.Second
	handshakeTime = 15 * time.Second
	answerTime    = 2 * time.Minute // from the end of a request to the head of its answer
	lookupTime    = 5 * time.Second
	idleTime      = 90 * time.Second
	idlePerHost   = 64
	checkedTime   = time.Minute // for which a name behind the operator's proxy counts as checked
)

// upstream makes the connections to hosts, directly or by the operator's proxy.
type upstream struct {
	private  bool // Rules.Private
	roots    *x509.CertPool
	operator func(*http.Request) (*url.URL, error) // the operator's proxy for a request; nil for none
	resolver *net.Resolver

	direct, behind *http.Transport // behind the operator's proxy
	checked        sync.Map        // names of hosts, and the time until which each counts as checked
}

func newUpstream(private bool, roots *x509.CertPool) *upstream {
	u := &upstream{private: private, roots: roots, operator: http.ProxyFromEnvironment, resolver: net.DefaultResolver}
	u.direct = u.transport(u.dialHost)
	u.behind = u.transport(u.dialOperator)
	u.behind.Proxy = func(r *http.Request) (*url.URL, error) { return u.operator(r) }
	return u
}

func (u *upstream) transport(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext: dial, DisableCompression: true,
		TLSClientConfig:     &tls.Config{RootCAs: u.roots, ClientSessionCache: tls.NewLRUClientSessionCache(0)},
		TLSHandshakeTimeout: handshakeTime, ResponseHeaderTimeout: answerTime, IdleConnTimeout: idleTime,
		MaxIdleConnsPerHost: idlePerHost, MaxResponseHeaderBytes: maxHeader,
	}
}

// dialHost connects to a host if the rules allow the address that it has now.
func (u *upstream) dialHost(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTime, Resolver: u.resolver, ControlContext: u.control}
	return d.DialContext(ctx, network, address)
}

// dialOperator connects to the operator's proxy, which may have any address.
func (u *upstream) dialOperator(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTime, Resolver: u.resolver}
	return d.DialContext(ctx, network, address)
}

// RoundTrip sends a request to its host.
func (u *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	operator, err := u.operator(r)
	if err != nil {
		return nil, err
	}
	if operator == nil {
		return u.direct.RoundTrip(r)
	}
	if err := u.checkName(r.Context(), r.URL.Hostname()); err != nil {
		return nil, err
	}
	return u.behind.RoundTrip(r)
}

// checkName returns an error if the name of a host behind the operator's proxy resolves here to
// an address that is not public. A name that is not known here is left to that proxy.
func (u *upstream) checkName(ctx context.Context, host string) error {
	if until, ok := u.checked.Load(host); u.private || ok && time.Now().Before(until.(time.Time)) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	addresses, err := u.resolver.LookupNetIP(ctx, "ip", host)
	for _, a := range addresses {
		if err := u.check(a); err != nil {
			return err
		}
	}
	if err == nil {
		u.checked.Store(host, time.Now().Add(checkedTime))
	}
	return nil
}

// tunnel returns a connection to HOST:PORT whose bytes are the client's.
func (u *upstream) tunnel(ctx context.Context, host, port string) (net.Conn, error) {
	address := net.JoinHostPort(host, port)
	operator, err := u.operator(&http.Request{URL: &url.URL{Scheme: "https", Host: address}})
	if err != nil {
		return nil, err
	}
	if operator == nil {
		return u.dialHost(ctx, "tcp", address)
	}
	if err := u.checkName(ctx, host); err != nil {
		return nil, err
	}
	return u.connectBy(ctx, operator, address)
}

// connectBy asks the operator's proxy for a connection to an address.
func (u *upstream) connectBy(ctx context.Context, operator *url.URL, address string) (net.Conn, error) {
	ports := map[string]string{"http": "80", "https": "443"}
	port := operator.Port()
	if port == "" {
		port = ports[operator.Scheme]
	}
	if ports[operator.Scheme] == "" {
		return nil, fmt.Errorf("the proxy of this machine has the scheme %q: give it one of http or https", operator.Scheme)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	c, err := u.dialOperator(ctx, "tcp", net.JoinHostPort(operator.Hostname(), port))
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if operator.Scheme == "https" {
		c = tls.Client(c, &tls.Config{ServerName: operator.Hostname(), RootCAs: u.roots})
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{"User-Agent": {""}}}
	if operator.User != nil {
		password, _ := operator.User.Password()
		request.SetBasicAuth(operator.User.Username(), password)
		request.Header = http.Header{"User-Agent": {""}, "Proxy-Authorization": request.Header["Authorization"]}
	}
	t := &tunnel{Conn: c, reader: bufio.NewReader(c)}
	err = request.Write(c)
	if err == nil {
		var answer *http.Response
		answer, err = http.ReadResponse(t.reader, request)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("the proxy of this machine answers %s", answer.Status)
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return t, nil
}

func (u *upstream) close() {
	u.direct.CloseIdleConnections()
	u.behind.CloseIdleConnections()
}
