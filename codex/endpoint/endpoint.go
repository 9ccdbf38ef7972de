// Package endpoint connects to an app-server that runs already, over a WebSocket, and connects again
// when the connection is lost; see lasting.go.
//
// An address is ws://, wss:// or unix:///PATH. Each message of the WebSocket is one line of the
// protocol, so a [Dial]ed connection reads and writes lines as the pipes of a process do. A token
// goes only where nobody can read it on the way: over wss://, or to this machine.
package endpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"time"

	"github.com/coder/websocket"
)

// The errors of this package.
var (
	// ErrAddress: the text is no address of an app-server.
	ErrAddress = errors.New("must be ws://HOST:PORT, wss://HOST:PORT or unix:///PATH")
	// ErrLongPath: systems take no path of a socket that is so long.
	ErrLongPath = errors.New("is too long for a Unix socket, whose path has at most 103 bytes")
	// ErrTransport: a token would be sent where others can read it.
	ErrTransport = errors.New("invalid_remote_auth_transport")
	// ErrRefused: the server answered and takes no connection. Another try has the same answer.
	ErrRefused = errors.New("codex_endpoint_refused")
	// ErrUnreachable: nobody answers at the address.
	ErrUnreachable = errors.New("codex_endpoint_unreachable")
	// ErrLost: the connection ended before the session.
	ErrLost = errors.New("codex_endpoint_lost")
)

// Address is the place of an app-server, as [Parse] returned it; empty for none.
type Address string

// Server is an app-server that runs already. The zero value is none.
type Server struct {
	Address Address
	Token   string `json:"-"` // empty for none

	SecretEnv string `json:"-"` // environment variable that holds the token; empty for none
}

// maxPath bounds the path of a Unix socket, in bytes: 103 on macOS, 107 on Linux.
const maxPath = 103

// Parse reads an address. The errors are [ErrAddress] and [ErrLongPath].
func Parse(text string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", ErrAddress
	}
	switch {
	case u.Scheme == "unix" && len(u.Path) > maxPath:
		return "", ErrLongPath
	case u.Scheme == "unix" && u.Host == "" && filepath.IsAbs(u.Path), (u.Scheme == "ws" || u.Scheme == "wss") && u.Hostname() != "":
		return Address(text), nil
	}
	return "", ErrAddress
}

// parts returns the URL of the WebSocket, and the path of the Unix socket, empty for TCP.
func (a Address) parts() (u *url.URL, path string) {
	u, err := url.Parse(string(a))
	switch {
	case err != nil: // Parse did not return it
		return new(url.URL), ""
	case u.Scheme == "unix":
		return &url.URL{Scheme: "ws", Host: "localhost", Path: "/"}, u.Path
	}
	return u, ""
}

// CheckToken fails with [ErrTransport] if a token must not be sent to the address.
func (a Address) CheckToken() error {
	if u, path := a.parts(); path != "" || u.Scheme == "wss" || isLoopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%w: a token to %s can be read on the way: write wss://, or an address of this machine", ErrTransport, a)
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// The bounds of a connection. Tests, which need no patience, set tries and pause before they start.
var (
	tries      = 40
	pause      = 150 * time.Millisecond
	resumeTime = 30 * time.Second // bounds a resumption
)

const (
	maxMessage = 20 << 20 // bytes of a message of the server
	dialTime   = 5 * time.Second
)

// Dial connects to the server. While nobody answers it tries again, 40 times in 6 seconds. It fails
// with [ErrTransport], [ErrRefused], [ErrUnreachable], and the cause of ctx.
func Dial(ctx context.Context, server Server) (io.ReadWriteCloser, error) {
	to, token := server.Address, server.Token
	header := http.Header{}
	if token != "" {
		if err := to.CheckToken(); err != nil {
			return nil, err
		}
		header.Set("Authorization", "Bearer "+token)
	}
	for try := 1; ; try++ {
		socket, answer, err := to.dial(ctx, header)
		switch {
		case err == nil:
			socket.SetReadLimit(maxMessage)
			open, end := context.WithCancel(context.WithoutCancel(ctx))
			return &conn{socket: socket, ctx: open, end: end}, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case answer != nil && answer.StatusCode != http.StatusServiceUnavailable:
			return nil, fmt.Errorf("connect to %s: %w: %s%s", to, ErrRefused, answer.Status, advice(answer.StatusCode, token))
		case try == tries:
			return nil, fmt.Errorf("connect to %s: %w: %w: start the app-server with --listen %[1]s", to, ErrUnreachable, cause(err))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// dial makes one try. It follows no redirect: the token is for the address alone.
func (a Address) dial(ctx context.Context, header http.Header) (*websocket.Conn, *http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	u, path := a.parts()
	transport := &http.Transport{TLSHandshakeTimeout: dialTime}
	defer transport.CloseIdleConnections() // of answers that refuse
	if path != "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return websocket.Dial(ctx, u.String(), &websocket.DialOptions{HTTPClient: client, HTTPHeader: header})
}

// advice returns the next step after an answer that refuses the connection.
func advice(status int, token string) string {
	switch {
	case status == http.StatusUnauthorized && token == "":
		return ": set codex.endpoint_token"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return ": compare codex.endpoint_token with the token of the server"
	}
	return ": is this the address of an app-server?"
}

// cause returns the error of the system in an error of a try.
func cause(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}

// conn is a connection of lines. Each Write has whole lines. Read and Write are each called by one
// goroutine at a time.
type conn struct {
	socket *websocket.Conn
	ctx    context.Context
	end    context.CancelFunc
	unread []byte // rest of the message that was read last
}

// Read implements [io.Reader]. Each message ends a line.
func (c *conn) Read(p []byte) (int, error) {
	if len(c.unread) == 0 {
		_, message, err := c.socket.Read(c.ctx)
		if err != nil {
			if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
				err = io.EOF
			}
			return 0, err
		}
		c.unread = append(message, '\n')
	}
	n := copy(p, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}

// Write implements [io.Writer]. Each line is a message.
func (c *conn) Write(lines []byte) (int, error) {
	for line := range bytes.Lines(lines) {
		if err := c.socket.Write(c.ctx, websocket.MessageText, bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return 0, err
		}
	}
	return len(lines), nil
}

// Close implements [io.Closer]. It does not wait for the server.
func (c *conn) Close() error {
	c.end()
	if err := c.socket.CloseNow(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
