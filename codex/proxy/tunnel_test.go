package proxy

import (
	"fmt"
	"io"
	"net"
	"testing"
)

// TestATunnelThatIsNotReadHasTwoHalves has a server that is no server of HTTP. It speaks first,
// and last when the client has ended.
func TestATunnelThatIsNotReadHasTwoHalves(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, "first")
			n, _ := io.Copy(io.Discard, c)
			fmt.Fprint(c, "last ", n)
			c.Close()
		}
	}()
	full := private
	full.Full = true
	s := serve(t, full, nil)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, early := range []string{"", "early"} { // sent together with the request
		c := s.dial()
		if got := ask(c, "CONNECT "+host+":"+port+" HTTP/1.1\r\nHost: x\r\n\r\n"+early); got != "200 " {
			t.Fatal(got)
		}
		if _, err := io.ReadFull(c, make([]byte, len("first"))); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "\x00\xff\r\n\r\n")
		c.(*net.TCPConn).CloseWrite()
		if said, err := io.ReadAll(c); err != nil || string(said) != fmt.Sprint("last ", len(early)+6) {
			t.Errorf("%q, %v", said, err)
		}
	}
	c := s.connect(host + ":" + port)
	s.end() // ends the tunnel, too: otherwise the client would read on
	io.Copy(io.Discard, c)
}
