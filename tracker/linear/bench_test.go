package linear

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/symphony-runner/symphony/tracker"
)

// thousand is a board of 1,000 issues, each with three labels and two blockers.
func thousand(b *testing.B) (*fake, []tracker.ID) {
	f := newFake(b)
	description := strings.Repeat("A line of the description.\n", 20)
	var ids []tracker.ID
	for i := range 1000 {
		var blockers []tracker.Blocker
		for _, id := range ids[max(0, i-2):] {
			blockers = append(blockers, tracker.Blocker{ID: id})
		}
		o := f.add(tracker.Issue{
			Title: fmt.Sprintf("Issue %d", i), Description: description, State: "Todo", Priority: new(2),
			Labels: []string{"bug", "urgent", "backend"}, BlockedBy: blockers,
		})
		ids = append(ids, tracker.ID(o["id"].(string)))
	}
	return f, ids
}

// cpu is the processor time of this process so far, in milliseconds.
func cpu(b *testing.B) float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e6
}

// BenchmarkListOf1000 includes the work of the fake, which is written once and
// then replayed, and of HTTP on both sides.
func BenchmarkListOf1000(b *testing.B) {
	f, _ := thousand(b)
	c := f.replayed(b)
	list := func() {
		issues, err := c.IssuesByState(b.Context(), []string{"Todo"})
		if err != nil || len(issues) != 1000 {
			b.Fatal(len(issues), err)
		}
	}
	list() // so that every answer is written
	b.ReportAllocs()
	before := cpu(b)
	for b.Loop() {
		list()
	}
	b.ReportMetric((cpu(b)-before)/float64(b.N), "cpu-ms/op")
}

func BenchmarkReadOf1000(b *testing.B) {
	f, ids := thousand(b)
	c := f.replayed(b)
	read := func() {
		issues, err := c.IssuesByID(b.Context(), ids)
		if err != nil || len(issues) != 1000 {
			b.Fatal(len(issues), err)
		}
	}
	read()
	b.ReportAllocs()
	before := cpu(b)
	for b.Loop() {
		read()
	}
	b.ReportMetric((cpu(b)-before)/float64(b.N), "cpu-ms/op")
}

// replayed serves each answer of the fake again when the same is asked, so that
// its own work does not count.
func (f *fake) replayed(b *testing.B) client {
	answers := make(map[string]*httptest.ResponseRecorder)
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		question, err := io.ReadAll(r.Body)
		if err != nil {
			b.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		recorded, known := answers[string(question)]
		if !known {
			recorded = httptest.NewRecorder()
			r.Body = io.NopCloser(bytes.NewReader(question))
			f.ServeHTTP(recorded, r)
			answers[string(question)] = recorded
		}
		answer(recorded.Code, recorded.Body.String())(w, r)
	}))
	b.Cleanup(server.Close)
	return open(b, server.URL, server.Client())
}
