package proxy

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// bridged is a bridge to a server of the test.
type bridged struct {
	t        *testing.T
	listener net.Listener // of the command's side
	server   net.Listener
	silent   atomic.Int32
	ended    sync.WaitGroup
}

// newBridge starts a bridge to a server on an address of this machine.
func newBridge(t *testing.T, address string) *bridged {
	t.Helper()
	server, err := net.Listen("tcp", address)
	if err != nil {
		t.Skip(err) // no IPv6
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &bridged{t: t, listener: listener, server: server}
	b.ended.Go(func() { Bridge(listener, server.Addr().(*net.TCPAddr).Port, func() { b.silent.Add(1) }) })
	t.Cleanup(func() {
		server.Close()
		listener.Close()
		b.ended.Wait()
	})
	return b
}

// dial connects a client.
func (b *bridged) dial() *net.TCPConn {
	b.t.Helper()
	c, err := net.Dial("tcp", b.listener.Addr().String())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// accept returns the next connection of the server.
func (b *bridged) accept() *net.TCPConn {
	b.t.Helper()
	c, err := b.server.Accept()
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// read returns all that comes on a connection until its end.
func read(t *testing.T, c net.Conn) string {
	t.Helper()
	text, err := io.ReadAll(c)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func TestABridgePassesBytesAndEachEnd(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{"IPv4": "127.0.0.1:0", "IPv6": "[::1]:0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBridge(t, address)
			client := b.dial()
			server := b.accept()
			_, _ = io.WriteString(client, "to the service")
			client.CloseWrite()
			if got := read(t, server); got != "to the service" {
				t.Errorf("the service got %q", got)
			}
			_, _ = io.WriteString(server, "to the client") // whose half is closed
			server.Close()
			if got := read(t, client); got != "to the client" {
				t.Errorf("the client got %q", got)
			}
		})
	}
}

func TestABridgeClosesItsConnectionsWithTheListener(t *testing.T) {
	t.Parallel()
	b := newBridge(t, "127.0.0.1:0")
	client := b.dial()
	server := b.accept()
	b.listener.Close()
	b.ended.Wait()
	if got := read(t, client) + read(t, server); got != "" {
		t.Errorf("%q", got)
	}
}

// TestABridgeBoundsItsConnections opens one more than there may be, and one again when another has
// ended.
func TestABridgeBoundsItsConnections(t *testing.T) {
	t.Parallel()
	b := newBridge(t, "127.0.0.1:0")
	var client, server *net.TCPConn
	for range maxBridged {
		client, server = b.dial(), b.accept()
	}
	if got := read(t, b.dial()); got != "" {
		t.Errorf("one too many got %q", got)
	}
	client.Close()
	server.Close()
	answered := make(chan *net.TCPConn)
	go func() {
		c, err := b.server.Accept()
		if err == nil {
			answered <- c.(*net.TCPConn)
		}
	}()
	for { // until the bridge has seen the end of the other
		client := b.dial()
		ended := make(chan bool)
		go func() {
			_, err := client.Read(make([]byte, 1))
			ended <- err == io.EOF
		}()
		select {
		case c := <-answered:
			c.Close()
			<-ended
			return
		case <-ended:
		}
	}
}

func TestAServiceThatDoesNotAnswerEndsTheConnection(t *testing.T) {
	t.Parallel()
	b := newBridge(t, "127.0.0.1:0")
	b.server.Close()
	if got := read(t, b.dial()); got != "" || b.silent.Load() != 1 {
		t.Errorf("%q, reported %d times", got, b.silent.Load())
	}
}
