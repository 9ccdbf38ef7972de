package github

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// thousand is a repository of 1,000 open issues with text of 2 kB each, on a
// server that does no more than to send what it has.
func thousand(b *testing.B, provider map[string]any) *repository {
	f := newFake(b)
	f.boards[3] = &fakeBoard{options: map[string][]string{"Status": {"Todo"}}}
	for range 1000 {
		f.put(func(i *ticket) {
			i.body, i.labels, i.items[3] = strings.Repeat("A line of text.\r\n", 120), []string{"bug", "P1", "status:todo"}, "Todo"
		})
	}
	f.canned()
	active := []string{"todo"}
	if provider == nil {
		active = []string{"open"}
	}
	return f.openWith(provider, active, []string{"closed"})
}

func list(b *testing.B, r *repository) {
	issues, err := r.IssuesByState(b.Context(), r.cfg.ActiveStates)
	if err != nil || len(issues) != 1000 || !issues[999].Dispatchable {
		b.Fatalf("%d issues, %v", len(issues), err)
	}
}

// measured runs the benchmark and tells the processor time of one round, with
// that of HTTP on both sides.
func measured(b *testing.B, round func()) {
	round() // so that the fake has every answer
	cpu := func() float64 {
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			b.Fatal(err)
		}
		return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e6
	}
	b.ReportAllocs()
	before := cpu()
	for b.Loop() {
		round()
	}
	b.ReportMetric((cpu()-before)/float64(b.N), "cpu-ms/op")
}

func BenchmarkFirstListOf1000(b *testing.B) {
	for name, provider := range map[string]map[string]any{
		"open": nil, "labels": {"state_label_prefix": "status:"}, "board": {"project": map[string]any{"number": 3}}, "anyone": {"state_label_prefix": "status:", "trust": "anyone"},
	} {
		b.Run(name, func(b *testing.B) {
			r := thousand(b, provider)
			measured(b, func() {
				clear(r.pages)
				clear(r.trust.facts)
				list(b, r)
			})
		})
	}
}

func BenchmarkUnchangedListOf1000(b *testing.B) {
	r := thousand(b, nil)
	measured(b, func() { list(b, r) })
}

func BenchmarkDecodeAPageOf100(b *testing.B) {
	r := thousand(b, nil)
	a, err := r.getIfChanged(b.Context(), r.listPath(listOpen), nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if records, _, err := decodeRecords(r.client, a); err != nil || len(records) != 100 {
			b.Fatal(err)
		}
	}
}

// canned makes the fake answer from memory what it was asked before, so that a
// benchmark measures the adapter.
func (f *fake) canned() {
	var mu sync.Mutex
	answers := make(map[string]*httptest.ResponseRecorder)
	next := f.server.Config.Handler
	f.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
		w.Write(answer.Body.Bytes())
	})
}
