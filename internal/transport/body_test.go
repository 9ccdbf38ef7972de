package transport_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/symphony-runner/symphony/internal/transport"
)

// switching answers each request with 101 Switching Protocols, and then says nothing.
func switching(t *testing.T) http.RoundTripper {
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		t.Cleanup(func() { there.Close() })
		go func() {
			_, _ = there.Read(make([]byte, 4<<10))
			_, _ = io.WriteString(there, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
			_, _ = io.Copy(io.Discard, there)
		}()
		return here, nil
	}}
}

func TestAnAnswerInAnotherProtocolIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := newTransport(t, address, switching(t))
		began := time.Now()
		_, err := send(t.Context(), tr, http.MethodGet, address)
		failure(t, err, transport.Refused, "101 Switching Protocols", "the proxy")
		_, _, err = tr.Tail(t.Context(), address, 100)
		failure(t, err, transport.Unreadable, "101 Switching Protocols")
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// endless is a body whose reads end only when it is closed.
type endless struct{ closed chan struct{} }

func (e endless) Read([]byte) (int, error) { <-e.closed; return 0, net.ErrClosed }

func (e endless) Close() error { close(e.closed); return nil }

func TestABodyIsReadUnderTheContextOfItsRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := newTransport(t, address, roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Body: endless{make(chan struct{})}}, nil
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := send(ctx, tr, http.MethodGet, address)
		failure(t, err, transport.Unanswered, "deadline exceeded")
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
		_, _, err = tr.Tail(t.Context(), address, 100)
		failure(t, err, transport.Unanswered, "no answer within 30s")
	})
}
