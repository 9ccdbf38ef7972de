// Command collector is the OTLP receiver of the OpenTelemetry collector, for tests: what it takes
// over HTTP it sends on to another receiver, decoded and encoded again. Its argument is JSON, see
// settings. It prints its address, and ends when its standard input does.
//
// It is a module of its own, so that the product does not depend on the collector.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"syscall"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
)

// settings is the argument of the program.
type settings struct {
	To      string         // address of the other receiver
	Signals []string       // traces, metrics
	HTTP    map[string]any // of the receiver, as in protocols.http of a collector
	Headers []string       // headers that are sent on
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var s settings
	if len(os.Args) != 2 {
		return errors.New("usage: collector SETTINGS")
	}
	if err := json.Unmarshal([]byte(os.Args[1]), &s); err != nil {
		return err
	}
	for {
		address, stop, err := s.start()
		if errors.Is(err, syscall.EADDRINUSE) {
			continue // another program took the port in between
		}
		if err != nil {
			return err
		}
		fmt.Println(address)
		_, _ = io.Copy(io.Discard, os.Stdin)
		return stop(context.Background())
	}
}

// start starts the receiver on a free port of this machine, and returns its address and the
// function that ends it.
func (s settings) start() (address string, stop component.ShutdownFunc, err error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address = free.Addr().String()
	if err := free.Close(); err != nil {
		return "", nil, err
	}
	overHTTP := map[string]any{"endpoint": address, "include_metadata": true}
	maps.Copy(overHTTP, s.HTTP)
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	if err := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{"http": overHTTP}}).Unmarshal(config); err != nil {
		return "", nil, err
	}
	about := receiver.Settings{ID: component.NewID(factory.Type()), TelemetrySettings: componenttest.NewNopTelemetrySettings(), BuildInfo: component.NewDefaultBuildInfo()}
	var parts []component.Component // the same receiver for all signals, which starts and ends once
	if slices.Contains(s.Signals, "traces") {
		to, err := consumer.NewTraces(s.sendTraces)
		if err != nil {
			return "", nil, err
		}
		part, err := factory.CreateTraces(context.Background(), about, config, to)
		if err != nil {
			return "", nil, err
		}
		parts = append(parts, part)
	}
	if slices.Contains(s.Signals, "metrics") {
		to, err := consumer.NewMetrics(s.sendMetrics)
		if err != nil {
			return "", nil, err
		}
		part, err := factory.CreateMetrics(context.Background(), about, config, to)
		if err != nil {
			return "", nil, err
		}
		parts = append(parts, part)
	}
	for _, part := range parts {
		if err := part.Start(context.Background(), componenttest.NewNopHost()); err != nil {
			return "", nil, err
		}
	}
	return address, func(ctx context.Context) error {
		var all []error
		for _, part := range parts {
			all = append(all, part.Shutdown(ctx))
		}
		return errors.Join(all...)
	}, nil
}

func (s settings) sendTraces(ctx context.Context, traces ptrace.Traces) error {
	body, err := ptraceotlp.NewExportRequestFromTraces(traces).MarshalProto()
	if err != nil {
		return err
	}
	return s.send(ctx, "/v1/traces", body)
}

func (s settings) sendMetrics(ctx context.Context, metrics pmetric.Metrics) error {
	body, err := pmetricotlp.NewExportRequestFromMetrics(metrics).MarshalProto()
	if err != nil {
		return err
	}
	return s.send(ctx, "/v1/metrics", body)
}

// send sends a request on, with the headers that came with it.
func (s settings) send(ctx context.Context, path string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.To+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for _, name := range s.Headers {
		for _, value := range client.FromContext(ctx).Metadata.Get(name) {
			r.Header.Add(name, value)
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the other receiver answers %s", answer.Status)
	}
	return nil
}
