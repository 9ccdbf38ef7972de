package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/telemetry"
)

// collectorHeaders are the environment variables whose values hold the credentials for a
// collector, as NAME=VALUE,….
var collectorHeaders = []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS"}

// collectorSecrets returns the values of the headers for a collector.
func (p process) collectorSecrets() (secrets []string) {
	for _, name := range collectorHeaders {
		value, _ := p.getenv(name)
		for _, header := range strings.Split(value, ",") {
			_, secret, _ := strings.Cut(header, "=")
			secrets = append(secrets, strings.TrimSpace(secret))
			if plain, err := url.PathUnescape(strings.TrimSpace(secret)); err == nil {
				secrets = append(secrets, plain)
			}
		}
	}
	return secrets
}

// record begins to record the run for a collector, if that is switched on. The caller has to call
// end with the report of the run.
func (x *tickRun) record() (end func(report.Tick)) {
	if off, _ := x.getenv("OTEL_SDK_DISABLED"); x.dryRun || off == "true" || !x.telemetry && !x.wf.Settings.Telemetry {
		return func(report.Tick) {}
	}
	recorder, err := telemetry.Start(telemetry.Run{Version: version(), Owner: x.Self, Once: x.Once, Started: time.Now()})
	if err != nil {
		x.warn(x.redactor.String(err.Error()))
		return func(report.Tick) {}
	}
	shown := x.OnSession
	x.OnSession = func(s runner.SessionStart) func(runner.SessionLog) {
		endSpan := recorder.Session(s.Claim, s.Live)
		var endShown func(runner.SessionLog)
		if shown != nil {
			endShown = shown(s)
		}
		return func(ended runner.SessionLog) {
			endSpan(ended.Outcome, ended.Next, ended.Prices)
			if endShown != nil {
				endShown(ended)
			}
		}
	}
	return func(t report.Tick) {
		if err := recorder.End(t); err != nil {
			x.warn(x.redactor.String(err.Error()))
		}
	}
}

// writeMetrics writes the numbers of the tick to the file of --metrics, which a reader never sees
// half written.
func (t *tickReport) writeMetrics(tick report.Tick) error {
	if t.metricsFile == "" {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(t.metricsFile), 0o700)
	part := t.metricsFile + ".part"
	if err == nil {
		err = os.WriteFile(part, []byte(telemetry.Text(telemetry.Measure(tick))), 0o644)
	}
	if err == nil {
		err = os.Rename(part, t.metricsFile)
	}
	if err != nil {
		return fmt.Errorf("keep the metrics: %w; give --metrics a file that can be written", err)
	}
	return nil
}
