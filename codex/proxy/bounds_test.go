package proxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener without a network, for tests in which time passes.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func newPipes() *pipes { return &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.accepted <- server
	return client
}

// inBubble runs a test of one command in a bubble of package synctest, and waits for its end.
func inBubble(t *testing.T, test func(t *testing.T, p *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		p, ended := newPipes(), make(chan struct{})
		proxy := New(private, nil, nil)
		go func() {
			defer close(ended)
			proxy.Serve(p, func(string) {})
		}()
		test(t, p)
		p.Close()
		<-ended
	})
}

const greet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

func TestAClientThatStallsIsCutOff(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, sent string
		after        time.Duration
	}{
		"sends nothing":          {"", "", headTime},
		"sends half a request":   {"", "GET / HTTP/1.1\r\nHost: x\r\n", headTime},
		"is idle":                {greet, "", keepTime},
		"does not finish a head": {greet, "CONNECT x", headTime},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, p *pipes) {
				c := p.dial()
				if test.before != "" {
					if got := ask(c, test.before); got != "200 "+Greeting+"\n" {
						t.Error(got)
					}
				}
				start := time.Now()
				if _, err := io.WriteString(c, test.sent); err != nil {
					t.Error(err)
				}
				if _, err := io.ReadAll(c); err != nil {
					t.Error(err)
				}
				if passed := time.Since(start); passed < test.after || passed > test.after+time.Second {
					t.Errorf("it is cut off after %v, want %v", passed, test.after)
				}
			})
		})
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *pipes) {
		var open []net.Conn
		for range maxConnections {
			open = append(open, p.dial())
		}
		if _, err := p.dial().Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("one too many: %v", err)
		}
		for range 3 {
			open[0].Close()
			synctest.Wait()
			open = append(open[1:], p.dial())
			if got := ask(open[len(open)-1], greet); got != "200 "+Greeting+"\n" {
				t.Error(got)
			}
		}
		for _, c := range open[:10] { // and the others are open when the command ends
			if got := ask(c, greet); got != "200 "+Greeting+"\n" {
				t.Error(got)
			}
		}
	})
}

// TestServeEndsWithItsListener has clients and hosts that never end by themselves.
func TestServeEndsWithItsListener(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/endless" {
			w.WriteHeader(http.StatusOK)
			for n := 0; r.Context().Err() == nil; n++ {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					break
				}
				if n == 0 {
					started <- struct{}{}
				}
			}
			return
		}
		started <- struct{}{}
		<-r.Context().Done()
	}, "h2", "http/1.1")
	s := serve(t, private, o.roots)
	s.dial()
	s.connect(host + ":" + o.port())
	for _, http2 := range []bool{false, true} {
		go get(s.client(http2), "GET", o.url("/hangs"))
		<-started
	}
	for _, path := range []string{"/endless", "/hangs"} { // a client that reads nothing, and one that does not send its body
		c, err := s.secure(o, host)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 10\r\n\r\n", path, host)
		<-started
	}
	s.end()
	if c, err := net.Dial("tcp", s.listener.Addr().String()); err == nil {
		c.Close()
		t.Error("the command has ended, and the proxy takes connections")
	}
	if reported := s.refusedHosts(); reported != nil {
		t.Errorf("reported: %q", reported)
	}
}

// TestALargeBodyTakesLittleMemory does not run at the same time as others, whose memory would count.
func TestALargeBodyTakesLittleMemory(t *testing.T) {
	const size = 100 << 20
	chunk := []byte(strings.Repeat("x", 32<<10))
	for _, sized := range []bool{true, false} {
		o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) {
			if sized {
				w.Header().Set("Content-Length", fmt.Sprint(size))
			}
			for range size / len(chunk) {
				if _, err := w.Write(chunk); err != nil {
					t.Error(err)
				}
			}
		}, "http/1.1")
		s := serve(t, private, o.roots)
		client := s.client(false)
		before := liveBytes()
		answer, err := client.Get(o.url("/"))
		if err != nil {
			t.Fatal(err)
		}
		for read := 0; read < size; read += size / 10 {
			if n, err := io.CopyN(io.Discard, answer.Body, size/10); err != nil {
				t.Fatal(read, n, err)
			}
			if live := liveBytes() - before; live > size/20 {
				t.Errorf("%d bytes are held after %d", live, read)
			}
		}
		if n, err := io.Copy(io.Discard, answer.Body); n > 0 || err != nil {
			t.Error(n, err)
		}
		answer.Body.Close()
	}
}

// liveBytes returns the size of all that is in use.
func liveBytes() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
