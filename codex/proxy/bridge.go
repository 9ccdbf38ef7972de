package proxy

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	// maxBridged bounds the connections of one command to one service at once.
	maxBridged = 64
	// serviceTime is the longest that a service may take to accept a connection.
	serviceTime = 10 * time.Second
	// acceptPause is the time before the next connection is accepted after a failure.
	acceptPause = 100 * time.Millisecond
)

// Bridge passes each connection that a listener accepts on to a port of this machine's loopback,
// until the listener is closed. Then it closes all of them and returns. A connection beyond the bound
// of 64, or to a service that does not answer, is closed at once. silent is called for each of the
// latter, also at the same time.
func Bridge(l net.Listener, port int, silent func()) {
	var open sync.WaitGroup
	defer open.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	slots := make(chan struct{}, maxBridged)
	for {
		from, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files
			<-time.After(acceptPause)
			continue
		}
		select {
		case slots <- struct{}{}:
			open.Go(func() {
				defer func() { <-slots }()
				defer from.Close()
				to, err := DialService(ctx, port)
				if err == nil {
					join(ctx, from, to)
				} else if ctx.Err() == nil {
					silent()
				}
			})
		default:
			from.Close()
		}
	}
}

// DialService connects to a port of this machine's loopback, by IPv6 if nobody listens by IPv4.
func DialService(ctx context.Context, port int) (net.Conn, error) {
	dialer := net.Dialer{Timeout: serviceTime}
	to, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if errors.Is(err, syscall.ECONNREFUSED) {
		to, err = dialer.DialContext(ctx, "tcp", net.JoinHostPort("::1", strconv.Itoa(port)))
	}
	return to, err
}
