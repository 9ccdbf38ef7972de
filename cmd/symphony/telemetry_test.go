package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// collectorCommand starts a collector that writes what it gets to spans.txt and numbers.txt, and sets
// the standard variable that names it: `collector [MODE]`. The mode is redirect, huge, error or
// silent.
func collectorCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: collector [redirect | huge | error | silent]")
	}
	mode := strings.Join(args, "")
	var mu sync.Mutex
	over := make(chan struct{})
	add := func(file, lines string) {
		mu.Lock()
		defer mu.Unlock()
		f, err := os.OpenFile(ts.MkAbs(file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, _ = f.WriteString(lines)
			_ = f.Close()
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch mode {
		case "redirect":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case "huge":
			w.WriteHeader(http.StatusBadRequest)
			for range 100_000 {
				if _, err := w.Write([]byte(strings.Repeat("<html>", 100))); err != nil {
					return
				}
			}
		case "error":
			http.Error(w, "secret-in-the-answer", http.StatusInternalServerError)
		case "silent":
			select {
			case <-over:
			case <-r.Context().Done():
			}
		default:
			var body io.Reader = r.Body
			if r.Header.Get("Content-Encoding") == "gzip" {
				body, _ = gzip.NewReader(r.Body)
			}
			content, _ := io.ReadAll(body)
			switch r.URL.Path {
			case "/v1/traces":
				add("spans.txt", spanLines(content))
			case "/v1/metrics":
				add("numbers.txt", numberLines(content))
			default:
				add("spans.txt", "ELSEWHERE "+r.URL.Path+"\n")
			}
			add("headers.txt", r.Header.Get("X-Key")+"\n")
		}
	}))
	ts.Defer(func() { close(over); server.Close() })
	ts.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
}

// spanLines returns a line for each span of an export: its trace, its parent, its name, its
// milliseconds and its attributes.
func spanLines(content []byte) string {
	var export collecttraces.ExportTraceServiceRequest
	if err := proto.Unmarshal(content, &export); err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for _, resource := range export.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				took := time.Duration(s.GetEndTimeUnixNano() - s.GetStartTimeUnixNano())
				fmt.Fprintf(&b, "%x %x %x %s %d", s.GetTraceId(), s.GetParentSpanId(), s.GetSpanId(), s.GetName(), took.Milliseconds())
				for _, a := range s.GetAttributes() {
					fmt.Fprintf(&b, " %s=%s", a.GetKey(), valueText(a.GetValue()))
				}
				b.WriteString("\n")
			}
		}
	}
	return b.String()
}

// valueText returns the value of an attribute.
func valueText(v *common.AnyValue) string {
	switch v.GetValue().(type) {
	case *common.AnyValue_IntValue:
		return fmt.Sprint(v.GetIntValue())
	case *common.AnyValue_DoubleValue:
		return fmt.Sprint(v.GetDoubleValue())
	}
	return v.GetStringValue()
}

func numberLines(content []byte) string {
	var export collectmetrics.ExportMetricsServiceRequest
	if err := proto.Unmarshal(content, &export); err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for _, resource := range export.GetResourceMetrics() {
		for _, scope := range resource.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				for _, p := range append(m.GetGauge().GetDataPoints(), m.GetSum().GetDataPoints()...) {
					fmt.Fprintf(&b, "%s %v", m.GetName(), p.GetAsDouble())
					for _, a := range p.GetAttributes() {
						fmt.Fprintf(&b, " %s=%s", a.GetKey(), a.GetValue().GetStringValue())
					}
					b.WriteString("\n")
				}
			}
		}
	}
	return b.String()
}
