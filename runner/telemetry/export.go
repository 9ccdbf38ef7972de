package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

const (
	// sendTime bounds all that is sent at the end of a run, and each request of a run of many
	// ticks.
	sendTime = 2 * time.Second
	// maxAnswer bounds the bytes of an answer of the collector.
	maxAnswer = 64 << 10
)

// failures keeps the first reason why something did not reach the collector. It is in the words of
// this package, because an error of an exporter holds the address and the answer of the collector.
type failures struct {
	mu    sync.Mutex
	first error
}

var errNoAnswer = errors.New("it did not answer in time")

// Handle keeps the error of an exporter, if there is no reason yet.
func (f *failures) Handle(err error) {
	switch {
	case err == nil:
	case errors.Is(err, context.DeadlineExceeded):
		f.keep(errNoAnswer)
	default:
		f.keep(errors.New("the exporter failed"))
	}
}

func (f *failures) keep(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first == nil {
		f.first = err
	}
}

// take returns the first reason, and forgets it.
func (f *failures) take() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.first
	f.first = nil
	return err
}

// sink returns the log of the exporters. It keeps the first thing that they complain about, such
// as a variable that they cannot read, and drops the values: one may be a secret.
func (f *failures) sink() logr.LogSink { return sink{f} }

type sink struct{ failures *failures }

func (s sink) Init(logr.RuntimeInfo)          {}
func (s sink) Enabled(int) bool               { return false }
func (s sink) Info(int, string, ...any)       {}
func (s sink) WithValues(...any) logr.LogSink { return s }
func (s sink) WithName(string) logr.LogSink   { return s }
func (s sink) Error(_ error, msg string, _ ...any) {
	s.failures.keep(fmt.Errorf("the exporter failed to %s", msg))
}

// newClient returns a client for a collector. It follows no redirect, since the headers may hold a
// credential. It has no timeout of its own: each export has a context that ends after sendTime, and
// a second clock that stops at the same moment would hide the reason.
func (f *failures) newClient() *http.Client {
	return &http.Client{
		Transport:     transport{http.DefaultTransport, f},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// transport bounds the answers of a collector, and keeps the reason of a failure.
type transport struct {
	http.RoundTripper
	failures *failures
}

// RoundTrip sends a request.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(r)
	switch {
	case err != nil && r.Context().Err() != nil:
		t.failures.keep(errNoAnswer)
		return nil, err
	case err != nil:
		t.failures.keep(cause(err))
		return nil, err
	case answer.StatusCode/100 == 2:
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
		return answer, nil
	case answer.StatusCode/100 == 3:
		t.failures.keep(errors.New("it redirects elsewhere, which is not followed"))
	default:
		t.failures.keep(fmt.Errorf("it answered %d %s", answer.StatusCode, http.StatusText(answer.StatusCode)))
	}
	_ = answer.Body.Close()
	answer.Body = http.NoBody
	return answer, nil
}

// cause returns the reason why a request was not answered, without an address.
func cause(err error) error {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return errors.New("the name of its host is not known")
	}
	if timed, ok := errors.AsType[net.Error](err); ok && timed.Timeout() {
		return errNoAnswer
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return errors.New("the connection failed")
}
