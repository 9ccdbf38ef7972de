package telemetry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	collecttraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// sendTime bounds all that is sent at the end of a run, and each request of a run of many
	// ticks.
	sendTime = 2 * time.Second
	// maxAnswer bounds the bytes of an answer of the collector.
	maxAnswer = 64 << 10
)

// failures keeps the first reason why something of a signal did not reach the collector. It is in
// the words of this package, because an error of an exporter holds the address and the answer of
// the collector.
type failures struct {
	mu    sync.Mutex
	first map[signal]error
}

// unknown is the signal of a failure that does not say its own.
const unknown signal = ""

var errNoAnswer = errors.New("it did not answer in time")

// Handle keeps the error of an exporter that does not say its signal.
func (f *failures) Handle(err error) { f.handle(unknown, err) }

// handle keeps the error of an exporter, if there is no reason yet.
func (f *failures) handle(s signal, err error) {
	switch {
	case err == nil:
	case errors.Is(err, context.DeadlineExceeded):
		f.keep(s, errNoAnswer)
	default:
		f.keep(s, errors.New("the exporter failed"))
	}
}

func (f *failures) keep(s signal, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first[s] == nil {
		if f.first == nil {
			f.first = map[signal]error{}
		}
		f.first[s] = err
	}
}

// take returns the reasons with the names of their signals, and forgets them. An exporter repeats
// without its signal that something failed: that counts where nothing else is known.
func (f *failures) take() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	ofTraces, ofMetrics, other := f.first[traces], f.first[metrics], f.first[unknown]
	f.first = nil
	switch {
	case ofTraces != nil && ofMetrics != nil && ofTraces.Error() != ofMetrics.Error():
		return fmt.Errorf("not all traces reached the collector: %w; nor all metrics: %w", ofTraces, ofMetrics)
	case ofTraces != nil && ofMetrics != nil:
		return fmt.Errorf("not all traces and metrics reached the collector: %w", ofTraces)
	case ofTraces != nil:
		return fmt.Errorf("not all traces reached the collector: %w", ofTraces)
	case ofMetrics != nil:
		return fmt.Errorf("not all metrics reached the collector: %w", ofMetrics)
	case other != nil:
		return fmt.Errorf("a part of it did not reach the collector: %w", other)
	}
	return nil
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
	s.failures.keep(unknown, fmt.Errorf("the exporter failed to %s", msg))
}

// newClient returns a client for a signal. It follows no redirect, since the headers may hold a
// credential. It has no timeout of its own: each export has a context that ends after sendTime, and
// a second clock that stops at the same moment would hide the reason.
func (f *failures) newClient(s signal, base http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport{base, s, f},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// transport bounds the answers of a collector, and keeps the reason of a failure. No exporter sees
// the text of an answer.
type transport struct {
	http.RoundTripper
	signal   signal
	failures *failures
}

// RoundTrip sends a request.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(r)
	switch {
	case err != nil && r.Context().Err() != nil:
		t.failures.keep(t.signal, errNoAnswer)
		return nil, err
	case err != nil:
		t.failures.keep(t.signal, cause(err))
		return nil, err
	case answer.StatusCode/100 == 2:
		if n := rejected(answer); n > 0 {
			t.failures.keep(t.signal, fmt.Errorf("it rejected %d of them: its log says why", n))
		}
	case answer.StatusCode/100 == 3:
		t.failures.keep(t.signal, errors.New("it redirects elsewhere, which is not followed"))
	case answer.StatusCode == http.StatusNotFound:
		t.failures.keep(t.signal, fmt.Errorf("it answered 404 Not Found: if it does not take them, OTEL_%s_EXPORTER=none leaves them out", t.signal))
	default:
		t.failures.keep(t.signal, fmt.Errorf("it answered %d %s", answer.StatusCode, http.StatusText(answer.StatusCode)))
	}
	_ = answer.Body.Close()
	answer.Body = http.NoBody
	return answer, nil
}

// rejected returns the number of spans or points that a collector did not take of what it answers
// that it took. The answers for both signals have the same form.
func rejected(answer *http.Response) int64 {
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	var taken collecttraces.ExportTraceServiceResponse
	if err != nil || proto.Unmarshal(content, &taken) != nil {
		return 0
	}
	return taken.GetPartialSuccess().GetRejectedSpans()
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
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return errors.New("its certificate is not trusted: OTEL_EXPORTER_OTLP_CERTIFICATE names the file of its authority")
	}
	return errors.New("the connection failed")
}
