package trackertest

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
)

// Replay answers a request that came before with the same answer, from memory, and
// every other one with next. In a benchmark the work of a fake then does not count.
func Replay(next http.Handler) http.Handler {
	var mu sync.Mutex
	answers := make(map[string]*httptest.ResponseRecorder)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		key := r.Method + r.URL.String() + r.Header.Get("If-None-Match") + string(body)
		mu.Lock()
		answer := answers[key]
		mu.Unlock()
		if answer == nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
			answer = httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			mu.Lock()
			answers[key] = answer
			mu.Unlock()
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}

// MeasureCPU runs a benchmark of round and reports the processor time of one round,
// which includes HTTP on both sides. It calls round once before, so that [Replay] has
// every answer.
func MeasureCPU(b *testing.B, round func()) {
	b.Helper()
	round()
	b.ReportAllocs()
	before := processorTime(b)
	for b.Loop() {
		round()
	}
	b.ReportMetric((processorTime(b)-before)/float64(b.N), "cpu-ms/op")
}

// processorTime returns the processor time of this process so far, in milliseconds.
func processorTime(b *testing.B) float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e6
}
