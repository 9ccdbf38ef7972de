package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/telemetry"
)

// telemetryDisabled reports whether the standard variable switches telemetry off, whatever else
// switches it on.
func telemetryDisabled(p wiring.Process) bool { return p.Value("OTEL_SDK_DISABLED") == "true" }

// record begins to record the run for a collector, if that is switched on. The caller has to call
// end with the report of the run.
func (x *tickRun) record() (end func(report.Tick)) {
	if x.dryRun || telemetryDisabled(x.Process) || !x.telemetry && !x.wf.Settings.Telemetry {
		return func(report.Tick) {}
	}
	recorder, err := telemetry.Start(telemetry.Run{Version: wiring.Version(), Owner: x.Self, Once: x.Once, Started: time.Now(), Getenv: x.Value})
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
