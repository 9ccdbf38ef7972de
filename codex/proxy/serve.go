package proxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

// The bounds of one command.
const (
	maxConnections = 256              // at once
	maxRequests    = 256              // sent on at once, by all connections
	maxHeader      = 64 << 10         // bytes of the head of a request or an answer
	maxName        = 253              // bytes of the name of a host that is reported
	maxCause       = 300              // characters of the cause of a failure
	headTime       = 30 * time.Second // for the head of a request
	keepTime       = 2 * time.Minute  // for which a connection may be idle
)

// passing are the methods that the limited mode lets pass.
var passing = []string{http.MethodGet, http.MethodHead, http.MethodOptions}

// command is the connections of one command. Its two servers read the requests to the proxy, and
// the requests in tunnels.
type command struct {
	*Proxy
	refused  func(host string)
	ctx      context.Context // ends with the command
	tunnels  chan net.Conn   // for the server of the requests in tunnels
	slots    chan struct{}   // one for each open connection
	requests chan struct{}   // one for each request that is answered

	mu   sync.Mutex
	open map[*connection]bool
}

// connection is a connection of the command. Whoever reads it last closes it, which frees its slot.
type connection struct {
	net.Conn
	command *command
}

// Serve serves the connections of one command until l is closed. Then it closes all of them and
// returns. refused is called with the name of each host that is asked for and that the rules do
// not name, also at the same time; the name may have any bytes, and is at most 253 bytes long.
func (p *Proxy) Serve(l net.Listener, refused func(host string)) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &command{
		Proxy: p, refused: refused, ctx: ctx, tunnels: make(chan net.Conn),
		slots: make(chan struct{}, maxConnections), requests: make(chan struct{}, maxRequests), open: map[*connection]bool{},
	}
	outside, inside := c.server(c.serveOutside), c.server(c.serveInside)
	inside.ConnContext = withTunnel
	var done sync.WaitGroup
	done.Go(func() { _ = inside.Serve(tunnelListener{l, c}) }) // until the context ends
	_ = outside.Serve(clientListener{l, c})                    // until l is closed
	cancel()
	done.Wait()
	// No server takes another connection now. Each goroutine of them ends with its connection,
	// or with the context.
	c.mu.Lock()
	for connection := range maps.Keys(c.open) {
		connection.Conn.Close()
	}
	c.mu.Unlock()
	for range maxConnections {
		c.slots <- struct{}{}
	}
	for range maxRequests {
		c.requests <- struct{}{}
	}
}

// server returns a server that answers within the bounds of the command.
func (c *command) server(answer http.HandlerFunc) *http.Server {
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case c.requests <- struct{}{}:
				defer func() { <-c.requests }()
				answer(w, r)
			case <-r.Context().Done():
			}
		}),
		BaseContext: func(net.Listener) context.Context { return c.ctx }, DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout: headTime, IdleTimeout: keepTime, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

// clientListener gives a server the connections of the command.
type clientListener struct {
	net.Listener
	*command
}

// Accept returns the next connection. It closes each one beyond the bound at once: to wait for
// another one to end would miss the end of the listener.
func (l clientListener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.slots <- struct{}{}:
			connection := &connection{accepted, l.command}
			l.mu.Lock()
			l.open[connection] = true
			l.mu.Unlock()
			return connection, nil
		default:
			accepted.Close()
		}
	}
}

func (c *connection) Close() error {
	c.command.mu.Lock()
	wasOpen := c.command.open[c]
	delete(c.command.open, c)
	c.command.mu.Unlock()
	err := c.Conn.Close()
	if wasOpen {
		<-c.command.slots
	}
	return err
}

func (c *connection) CloseWrite() error { return closeWrite(c.Conn) }

// tunnelListener gives a server the tunnels of the command.
type tunnelListener struct {
	net.Listener // for its address alone
	*command
}

func (l tunnelListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.tunnels:
		return c, nil
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (tunnelListener) Close() error { return nil } // the context ends it

// serveOutside answers a request to the proxy.
func (c *command) serveOutside(w http.ResponseWriter, r *http.Request) {
	authority := r.URL.Host
	if r.Method == http.MethodConnect {
		authority = r.RequestURI // as it was written
	}
	host, port := split(authority)
	known := lower(host)
	switch {
	case r.Method != http.MethodConnect && strings.HasPrefix(r.RequestURI, "/"):
		fmt.Fprintln(w, Greeting)
	case host == "", r.Method == http.MethodConnect && port == "", r.Method != http.MethodConnect && r.URL.Scheme != "http":
		say(w, http.StatusBadRequest, "this is a proxy: ask by CONNECT HOST:PORT, or for a URL of http")
	case c.hosts[known] == nil:
		c.refused(host[:min(len(host), maxName)])
		say(w, http.StatusForbidden, "the host %s is not one that this command may reach: a person can name it under the key network in WORKFLOW.md", text.OneLine(host, maxName))
	case r.Method != http.MethodConnect:
		c.pass(w, r, "http", known, port)
	case c.full:
		c.connect(w, r, known, port)
	default:
		c.read(w, known, port)
	}
}

// serveInside answers a request in a tunnel.
func (c *command) serveInside(w http.ResponseWriter, r *http.Request) {
	t := r.Context().Value(tunnelKey{}).(*tunnel)
	if name := lower(r.Host); name != t.host && name != t.host+":"+t.port {
		say(w, http.StatusBadRequest, "the request names another host than its tunnel, which leads to %s", t.host)
		return
	}
	c.pass(w, r, "https", t.host, t.port)
}

// pass sends a request on to a host of the rules.
func (c *command) pass(w http.ResponseWriter, r *http.Request, scheme, host, port string) {
	if !c.full && !slices.Contains(passing, r.Method) {
		say(w, http.StatusForbidden, "only GET, HEAD and OPTIONS pass to %s: a person can write network_mode: full beside the key network in WORKFLOW.md", host)
		return
	}
	target := *r.URL
	target.Scheme, target.Host, target.User = scheme, host, nil
	if port != "" {
		target.Host += ":" + port
	}
	r = r.WithContext(r.Context())
	r.URL = &target
	w.Header()["Content-Type"] = nil // none is made up where the host sends none
	if !c.full {
		w = finalOnly{w}
	}
	c.forward.ServeHTTP(w, r)
}

// read answers a CONNECT with a tunnel whose requests serveInside reads.
func (c *command) read(w http.ResponseWriter, host, port string) {
	config, err := c.hosts[host]()
	if err != nil {
		say(w, http.StatusBadGateway, "%s", text.OneLine(err.Error(), maxCause))
		return
	}
	t := accept(w, host, port)
	if t == nil {
		return
	}
	select {
	case c.tunnels <- tls.Server(t, config):
	case <-c.ctx.Done():
		t.Close()
	}
}

// connect answers a CONNECT with a tunnel that nobody reads.
func (c *command) connect(w http.ResponseWriter, r *http.Request, host, port string) {
	to, err := c.upstream.tunnel(r.Context(), host, port)
	if err != nil {
		sayFailure(w, host, err)
		return
	}
	if t := accept(w, host, port); t != nil {
		join(c.ctx, t, to)
	}
	to.Close()
}

// accept answers a CONNECT, and returns the connection; nil if the client is gone.
func accept(w http.ResponseWriter, host, port string) *tunnel {
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		client.Close()
		return nil
	}
	return &tunnel{Conn: client, reader: buffered.Reader, host: host, port: port}
}
