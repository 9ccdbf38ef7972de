package linear

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
)

// bubble runs a test in virtual time, with the fake served over in-memory
// connections: retries and timeouts then take no time.
func bubble(t *testing.T, run func(t *testing.T, f *fake, c client)) {
	t.Helper()
	f := newFake(t)
	synctest.Test(t, func(t *testing.T) {
		listener := &pipes{dialled: make(chan net.Conn), closed: make(chan struct{})}
		server := &http.Server{Handler: f}
		var group sync.WaitGroup
		group.Go(func() { _ = server.Serve(listener) })
		transport := &http.Transport{DialContext: listener.dial, DisableKeepAlives: true}
		t.Cleanup(func() {
			_ = server.Close()
			group.Wait()
		})
		run(t, f, open(t, "http://localhost/graphql", &http.Client{Transport: transport}))
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
