package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"sync"
)

// tunnel is a connection of which a reader may have read the first bytes already.
type tunnel struct {
	net.Conn
	reader     *bufio.Reader
	host, port string // what the client asked for
}

func (t *tunnel) Read(p []byte) (int, error) { return t.reader.Read(p) }

func (t *tunnel) CloseWrite() error { return closeWrite(t.Conn) }

// closeWrite ends what is sent on a connection, and the whole connection if it has no halves.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// join passes the bytes of each connection to the other until both have ended, one has failed,
// or the context ends. It closes both.
func join(ctx context.Context, a, b net.Conn) {
	closeBoth := func() {
		a.Close()
		b.Close()
	}
	defer closeBoth()
	defer context.AfterFunc(ctx, closeBoth)()
	pass := func(to, from net.Conn) {
		_, err := io.Copy(to, from)
		if err == nil {
			err = closeWrite(to)
		}
		if err != nil {
			closeBoth()
		}
	}
	var other sync.WaitGroup
	other.Go(func() { pass(a, b) })
	pass(b, a)
	other.Wait()
}
