package telemetry_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collecttraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/telemetry"
)

// collect starts a collector, names it by the standard variable, and returns the spans that it got.
func collect(t testing.TB) func() []*trace.Span {
	var mu sync.Mutex
	var spans []*trace.Span
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(r.Body)
		}
		content, _ := io.ReadAll(body)
		var export collecttraces.ExportTraceServiceRequest
		if !strings.HasSuffix(r.URL.Path, "/traces") || proto.Unmarshal(content, &export) != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, resource := range export.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				spans = append(spans, scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	return func() []*trace.Span {
		mu.Lock()
		defer mu.Unlock()
		return spans
	}
}

func number(s *trace.Span, name string) (n int64, found bool) {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == name {
			return a.GetValue().GetIntValue(), true
		}
	}
	return 0, false
}

// One tick is one trace: the spans of its sessions lie below the tick, and their tokens and times
// add up to those of the report.
func TestTheSpansOfATickAddUpToItsReport(t *testing.T) {
	spans := collect(t)
	began := time.Now()
	r, err := telemetry.Start(telemetry.Run{Version: "1.2.3", Once: true, Started: began, Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	var spent schedule.Spent
	for _, id := range []string{"ABC-1", "ABC-2", "ABC-3"} {
		end := r.Session(schedule.Claim{Identifier: id, Sessions: 1, Host: "build1"}, nil)
		o := schedule.Outcome{Class: schedule.Done, Turns: 1, Usage: schedule.Usage{Input: 100, Output: 20}}
		spent = spent.Plus(schedule.Spent{Sessions: 1, Usage: o.Usage})
		end(o, schedule.Next{}, nil)
	}
	tick := report.Tick{Started: began, Ended: began.Add(time.Minute), Spent: spent}
	if err := r.End(tick); err != nil {
		t.Fatal(err)
	}
	var root *trace.Span
	var input, output, sessions int64
	for _, s := range spans() {
		if s.GetName() == "tick" {
			root = s
			continue
		}
		if !slices.ContainsFunc(s.GetAttributes(), func(a *common.KeyValue) bool {
			return a.GetKey() == "symphony.worker_host" && a.GetValue().GetStringValue() == "build1"
		}) {
			t.Errorf("the span has no worker host: %v", s.GetAttributes())
		}
		in, _ := number(s, "gen_ai.usage.input_tokens")
		out, _ := number(s, "gen_ai.usage.output_tokens")
		input, output, sessions = input+in, output+out, sessions+1
	}
	if root == nil || input != spent.Usage.Input || output != spent.Usage.Output || sessions != int64(spent.Sessions) {
		t.Fatalf("%v: %d and %d tokens in %d sessions, want %+v", root, input, output, sessions, spent)
	}
	if took := time.Duration(root.GetEndTimeUnixNano() - root.GetStartTimeUnixNano()); took != time.Minute || len(root.GetParentSpanId()) > 0 {
		t.Errorf("the tick took %v, and has the parent %x", took, root.GetParentSpanId())
	}
	for _, s := range spans() {
		if string(s.GetTraceId()) != string(root.GetTraceId()) || s != root && string(s.GetParentSpanId()) != string(root.GetSpanId()) {
			t.Errorf("%s is not below the tick", s.GetName())
		}
	}
}

// A session that was given up, so that its span never ends, holds up nothing.
func TestASessionThatNeverEndsHoldsUpNothing(t *testing.T) {
	spans := collect(t)
	r, err := telemetry.Start(telemetry.Run{Once: true, Started: time.Now(), Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	r.Session(schedule.Claim{Identifier: "ABC-1"}, nil)
	if err := r.End(report.Tick{}); err != nil || len(spans()) != 1 {
		t.Errorf("%v, %d spans", err, len(spans()))
	}
}

func TestLabelsOfPrometheusAreEscaped(t *testing.T) {
	t.Parallel()
	got := telemetry.Text([]telemetry.Number{
		{Name: "a.b", Unit: "s", Help: "x\ny", Value: 1.5, Labels: [][2]string{{"model", "\"q\"\\\n\x1b[31mé"}}},
		{Name: "a.b", Unit: "s", Help: "x\ny", Value: 2, Labels: [][2]string{{"model", ""}, {"kind", "z"}}},
	})
	want := "# HELP a_b_seconds x\\ny\n# TYPE a_b_seconds gauge\n" +
		"a_b_seconds{model=\"\\\"q\\\"\\\\__[31mé\"} 1.5\na_b_seconds{model=\"\",kind=\"z\"} 2\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// BenchmarkSession measures the work for one session.
func BenchmarkSession(b *testing.B) {
	collect(b)
	r, err := telemetry.Start(telemetry.Run{Once: true, Started: time.Now(), Getenv: os.Getenv})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r.Session(schedule.Claim{Identifier: "ABC-1"}, nil)(schedule.Outcome{Class: schedule.Done}, schedule.Next{}, nil)
	}
	_ = r.End(report.Tick{})
}

// BenchmarkStart measures the work at the start of a run.
func BenchmarkStart(b *testing.B) {
	collect(b)
	for b.Loop() {
		if _, err := telemetry.Start(telemetry.Run{Once: true, Started: time.Now(), Getenv: os.Getenv}); err != nil {
			b.Fatal(err)
		}
	}
}
