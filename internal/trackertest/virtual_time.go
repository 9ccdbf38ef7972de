package trackertest

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
)

// Bubble runs a test in virtual time, with a server of its own that is reached over
// in-memory connections, whatever the address: retries and timeouts then take no
// time.
func Bubble(t *testing.T, handler http.Handler, run func(t *testing.T, base http.RoundTripper)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		listener := &pipes{dialled: make(chan net.Conn), closed: make(chan struct{})}
		server := &http.Server{Handler: handler}
		var group sync.WaitGroup
		group.Go(func() { _ = server.Serve(listener) })
		t.Cleanup(func() {
			_ = server.Close()
			group.Wait()
		})
		run(t, &http.Transport{DialContext: listener.dial, DialTLSContext: listener.dial, DisableKeepAlives: true})
	})
}

// pipes is a listener whose connections are pipes.
type pipes struct {
	dialled chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.dialled <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.dialled:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }
