package main

import (
	"bufio"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlpmetrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// collected holds what a collector has got. Its values are the values of attributes, as text.
type collected struct {
	mu       sync.Mutex
	resource map[string]string
	spans    []collectedSpan
	numbers  []collectedNumber
	keys     []string // header X-Key of each request
}

type collectedSpan struct {
	trace, parent, id, name string
	began, ended            time.Time
	failed                  bool
	attributes              []string // NAME=VALUE
}

type collectedNumber struct {
	name, unit string
	value      float64
	sum        bool // a sum of differences, which only grows
	attributes []string
}

// value returns the value of an attribute, "" for none.
func value(attributes []string, name string) string {
	for _, a := range attributes {
		if found, is := strings.CutPrefix(a, name+"="); is {
			return found
		}
	}
	return ""
}

func attributes(list []*common.KeyValue) (all []string) {
	for _, a := range list {
		text := a.GetValue().GetStringValue()
		switch a.GetValue().GetValue().(type) {
		case *common.AnyValue_IntValue:
			text = fmt.Sprint(a.GetValue().GetIntValue())
		case *common.AnyValue_DoubleValue:
			text = fmt.Sprint(a.GetValue().GetDoubleValue())
		}
		all = append(all, a.GetKey()+"="+text)
	}
	return all
}

// take takes a request to a path.
func (c *collected) take(r *http.Request) error {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			return err
		}
		body = unpacked
	}
	content, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = append(c.keys, r.Header.Get("X-Key"))
	switch r.URL.Path {
	case "/v1/traces":
		var export collecttraces.ExportTraceServiceRequest
		if err := proto.Unmarshal(content, &export); err != nil {
			return err
		}
		for _, resource := range export.GetResourceSpans() {
			c.addResource(resource.GetResource().GetAttributes())
			for _, scope := range resource.GetScopeSpans() {
				for _, s := range scope.GetSpans() {
					c.spans = append(c.spans, collectedSpan{
						hex.EncodeToString(s.GetTraceId()), hex.EncodeToString(s.GetParentSpanId()), hex.EncodeToString(s.GetSpanId()), s.GetName(),
						time.Unix(0, int64(s.GetStartTimeUnixNano())), time.Unix(0, int64(s.GetEndTimeUnixNano())),
						s.GetStatus().GetCode() == 2, attributes(s.GetAttributes()),
					})
				}
			}
		}
	case "/v1/metrics":
		var export collectmetrics.ExportMetricsServiceRequest
		if err := proto.Unmarshal(content, &export); err != nil {
			return err
		}
		for _, resource := range export.GetResourceMetrics() {
			c.addResource(resource.GetResource().GetAttributes())
			for _, scope := range resource.GetScopeMetrics() {
				for _, m := range scope.GetMetrics() {
					sum := m.GetSum().GetIsMonotonic() && m.GetSum().GetAggregationTemporality() == otlpmetrics.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
					for _, p := range append(m.GetGauge().GetDataPoints(), m.GetSum().GetDataPoints()...) {
						c.numbers = append(c.numbers, collectedNumber{m.GetName(), m.GetUnit(), p.GetAsDouble(), sum, attributes(p.GetAttributes())})
					}
				}
			}
		}
	default:
		return fmt.Errorf("there is no %s", r.URL.Path)
	}
	return nil
}

func (c *collected) addResource(list []*common.KeyValue) {
	c.resource = map[string]string{}
	for _, a := range attributes(list) {
		name, text, _ := strings.Cut(a, "=")
		c.resource[name] = text
	}
}

// write writes what there is to files of a folder.
func (c *collected) write(folder string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var spans, numbers strings.Builder
	for _, s := range c.spans {
		fmt.Fprintf(&spans, "%s %s %s %s %d %s\n", s.trace, s.parent, s.id, s.name, s.ended.Sub(s.began).Milliseconds(), strings.Join(s.attributes, " "))
	}
	for _, n := range c.numbers {
		fmt.Fprintln(&numbers, strings.Join(append([]string{n.name, fmt.Sprint(n.value)}, n.attributes...), " "))
	}
	for name, text := range map[string]string{"spans.txt": spans.String(), "numbers.txt": numbers.String(), "headers.txt": strings.Join(c.keys, "\n") + "\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// realCollector is the settings of testdata/collector.
type realCollector struct {
	To      string
	Signals []string
	HTTP    map[string]any
	Headers []string
}

// start starts the program in front of the receiver of the test, and returns its address and the
// function that ends it.
func (c realCollector) start(program string) (address string, stop func() error, err error) {
	settings, err := json.Marshal(c)
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(program, string(settings))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() error {
		_ = stdin.Close()
		return cmd.Wait()
	}
	address, err = bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return "", nil, fmt.Errorf("the collector did not start: %w, %v", err, stop())
	}
	return strings.TrimSpace(address), stop, nil
}

const collectorVariable = "SYMPHONY_TEST_COLLECTOR"

// collectorProgram returns the path of the real collector, and skips the test if there is none.
func collectorProgram(t testing.TB) string {
	t.Helper()
	program := os.Getenv(collectorVariable)
	if program == "" {
		t.Skip("no collector: build the module in testdata/collector as .ci/run does, and set " + collectorVariable + " to the program's absolute path")
	}
	return program
}

// collectorCommand starts a collector that writes what it gets to spans.txt, numbers.txt and
// headers.txt, and sets the standard variable that names it: `collector [MODE]`. Without a mode
// it takes everything. In the mode traces it has no place for metrics, in error it takes nothing,
// and in tls it wants the certificate of cert.pem and key.pem, which it has itself. In these modes
// it is the real one, if there is one, in front of the one of the test. No real one rejects a part
// of what it takes (partial), redirects, sends a huge answer or none (silent).
func collectorCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: collector [traces | error | tls | partial | redirect | huge | silent]")
	}
	mode, over := strings.Join(args, ""), make(chan struct{})
	got := &collected{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case mode == "redirect":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case mode == "huge":
			w.WriteHeader(http.StatusBadRequest)
			for range 100_000 {
				if _, err := w.Write([]byte(strings.Repeat("<html>", 100))); err != nil {
					return
				}
			}
		case mode == "error":
			http.Error(w, "secret-in-the-answer", http.StatusServiceUnavailable)
		case mode == "partial":
			answer, _ := proto.Marshal(&collecttraces.ExportTraceServiceResponse{PartialSuccess: &collecttraces.ExportTracePartialSuccess{
				RejectedSpans: 2, ErrorMessage: "secret-in-the-answer",
			}})
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = w.Write(answer)
		case mode == "silent":
			select {
			case <-over:
			case <-r.Context().Done():
			}
		case mode == "traces" && r.URL.Path != "/v1/traces":
			http.NotFound(w, r)
		default:
			if err := got.take(r); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
			} else if err := got.write(ts.MkAbs(".")); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		}
	}))
	ts.Defer(func() { close(over); server.Close() })
	c := realCollector{Signals: []string{"traces", "metrics"}, Headers: []string{"X-Key"}}
	program, scheme := os.Getenv(collectorVariable), "http"
	switch mode {
	case "traces":
		c.Signals = c.Signals[:1]
	case "", "error":
	case "tls":
		scheme = "https"
		pair, err := localCertificate()
		ts.Check(err)
		key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
		ts.Check(err)
		for file, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "key.pem": {Type: "PRIVATE KEY", Bytes: key}} {
			ts.Check(os.WriteFile(ts.MkAbs(file), pem.EncodeToMemory(block), 0o600))
		}
		c.HTTP = map[string]any{"tls": map[string]any{"cert_file": ts.MkAbs("cert.pem"), "key_file": ts.MkAbs("key.pem"), "client_ca_file": ts.MkAbs("cert.pem")}}
		if program == "" {
			clients := x509.NewCertPool()
			clients.AddCert(pair.Leaf)
			server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert}
		}
	default:
		program = ""
	}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it would tell of each client without a certificate
	if server.TLS != nil {
		server.StartTLS()
	} else {
		server.Start()
	}
	address := server.Listener.Addr().String()
	if c.To = "http://" + address; program != "" {
		real, stop, err := c.start(program)
		ts.Check(err)
		ts.Defer(func() { ts.Check(stop()) })
		ts.Logf("in front of it is %s", program)
		address = real
	}
	ts.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", scheme+"://"+address)
}
