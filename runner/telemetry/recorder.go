package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
)

const (
	// maxSpans bounds the spans below one session.
	maxSpans = 5000
	// maxQueue bounds the spans that wait to be sent.
	maxQueue = 20_000
)

// Recorder records one run, and sends it to a collector.
type Recorder struct {
	tracer   trace.Tracer
	traces   *sdktrace.TracerProvider
	metrics  *sdkmetric.MeterProvider
	failures *failures
	tick     trace.Span // nil in a run of many ticks
	ctx      context.Context
	watching sync.WaitGroup
	ended    chan struct{} // closed at the end of the run
}

// Run describes the run that is recorded.
type Run struct {
	Version string
	Owner   schedule.Owner
	Once    bool // it performs one tick
	Started time.Time
	Getenv  Getenv // the standard variables of OpenTelemetry
}

// Start begins to record a run. It sends nothing. It fails if the standard variables of
// OpenTelemetry name no collector, or cannot be used.
func Start(run Run) (*Recorder, error) {
	ctx, f := context.Background(), &failures{}
	if problems := Problems(run.Getenv); len(problems) > 0 {
		return nil, failed(errors.New(problems[0]))
	}
	otel.SetErrorHandler(f)
	otel.SetLogger(logr.New(f.sink()))
	about, err := resource.New(ctx, resource.WithAttributes(describe(run)...), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, failed(err)
	}
	ofTraces, ofMetrics := []sdktrace.TracerProviderOption{sdktrace.WithResource(about)}, []sdkmetric.Option{sdkmetric.WithResource(about)}
	for _, s := range sent(run.Getenv) {
		base, err := s.transport(run.Getenv)
		if err != nil {
			return nil, failed(err)
		}
		switch client := f.newClient(s, base); s {
		case traces:
			spans, err := otlptracehttp.New(ctx, otlptracehttp.WithHTTPClient(client), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))
			if err != nil {
				return nil, failed(err)
			}
			ofTraces = append(ofTraces, sdktrace.WithBatcher(spans, sdktrace.WithMaxQueueSize(maxQueue), sdktrace.WithExportTimeout(sendTime), sdktrace.WithBatchTimeout(time.Minute)))
		case metrics:
			numbers, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithHTTPClient(client), otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{}),
				otlpmetrichttp.WithTemporalitySelector(sdkmetric.DeltaTemporalitySelector))
			if err != nil {
				return nil, failed(err)
			}
			ofMetrics = append(ofMetrics, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(numbers, sdkmetric.WithTimeout(sendTime), sdkmetric.WithInterval(24*time.Hour))))
		}
	}
	r := &Recorder{failures: f, ctx: ctx, ended: make(chan struct{})}
	r.traces, r.metrics = sdktrace.NewTracerProvider(ofTraces...), sdkmetric.NewMeterProvider(ofMetrics...)
	r.tracer = r.traces.Tracer("symphony", trace.WithInstrumentationVersion(run.Version), trace.WithSchemaURL("https://opentelemetry.io/schemas/"+conventions))
	if run.Once {
		r.ctx, r.tick = r.tracer.Start(ctx, "tick", trace.WithTimestamp(run.Started), trace.WithNewRoot())
	}
	return r, nil
}

func failed(err error) error {
	return fmt.Errorf("telemetry: cannot be set up: %w, or switch telemetry off", err)
}

// describe returns the attributes of the resource.
func describe(run Run) []attribute.KeyValue {
	about := []attribute.KeyValue{attribute.String("service.name", "symphony"), attribute.String("service.version", run.Version)}
	if run.Owner.Run != "" {
		about = append(about, runID.String(run.Owner.Run), runAttempt.Int(run.Owner.Attempt))
	}
	if run.Owner.Shard > 0 {
		about = append(about, shard.Int(run.Owner.Shard))
	}
	return about
}

// Session begins the span of a session that begins, and watches its log. The function that it
// returns ends the span.
func (r *Recorder) Session(claim schedule.Claim, live *transcript.Live) (end func(o schedule.Outcome, then schedule.Next, prices schedule.Prices)) {
	began := time.Now()
	ctx, span := r.tracer.Start(r.ctx, "invoke_agent codex", trace.WithTimestamp(began), trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(
		operation.String("invoke_agent"), agent.String("codex"),
		issue.String(claim.Identifier), attemptNo.Int(claim.Attempt), sessionNo.Int(claim.Sessions),
	))
	if claim.Host != "" {
		span.SetAttributes(workerHost.String(claim.Host))
	}
	watch := &watch{recorder: r, ctx: ctx, began: began, live: live, over: make(chan struct{})}
	if live != nil {
		r.watching.Go(watch.run)
	}
	return func(o schedule.Outcome, then schedule.Next, prices schedule.Prices) {
		close(watch.over)
		span.SetAttributes(outcome.String(string(o.Class)), next.String(string(then.Phase)), turns.Int(o.Turns))
		span.SetAttributes(usage(o.Usage, prices)...)
		if o.Class != schedule.Done && o.Class != schedule.Stopped {
			span.SetAttributes(errorType.String(string(o.Class)))
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// usage returns the attributes of tokens: the model only if there was one, and the cost only if it
// is known.
func usage(u schedule.Usage, prices schedule.Prices) []attribute.KeyValue {
	list := []attribute.KeyValue{inputTokens.Int64(u.Input), outputParts.Int64(u.Output)}
	var cached, written int64
	for _, t := range u.Tariffs {
		cached, written = cached+t.Cached, written+t.CacheWrite
	}
	if n := len(u.Tariffs); n > 0 && u.Tariffs[0].Model == u.Tariffs[n-1].Model && u.Tariffs[0].Model != "" { // they are sorted
		list = append(list, model.String(u.Tariffs[0].Model))
	}
	list = append(list, cachedInput.Int64(cached), cacheWrites.Int64(written))
	if c := prices.Of(u); len(prices) > 0 && c.IsKnown() {
		list = append(list, cost.Float64(c.USD.Dollars()))
	}
	return list
}

// watch makes spans of the log of a session while it runs.
type watch struct {
	recorder *Recorder
	ctx      context.Context
	began    time.Time
	live     *transcript.Live
	over     chan struct{} // closed when the session has ended

	seen, spans int
}

func (w *watch) run() {
	for {
		entries, lost, changed := w.live.Since(w.seen)
		w.seen += lost + len(entries)
		for _, e := range entries {
			w.record(e)
		}
		select {
		case <-changed:
			continue
		case <-w.over:
		case <-w.recorder.ended: // the session was given up
		}
		entries, _, _ = w.live.Since(w.seen)
		for _, e := range entries {
			w.record(e)
		}
		return
	}
}

// record makes a span of an entry that took time. Its texts stay out.
func (w *watch) record(e transcript.Entry) {
	name, about := "", []attribute.KeyValue{}
	switch e.Kind {
	case transcript.KindTurn:
		name = "turn"
	case transcript.KindCommand:
		name, about = "execute_tool shell", append(about, operation.String("execute_tool"), tool.String("shell"))
	case transcript.KindFiles:
		name, about = "execute_tool apply_patch", append(about, operation.String("execute_tool"), tool.String("apply_patch"))
	case transcript.KindTool:
		called := toolName(e.Title)
		name, about = "execute_tool "+called, append(about, operation.String("execute_tool"), tool.String(called))
	case transcript.KindHook:
		name = "hook"
	default:
		return
	}
	if w.spans++; w.spans > maxSpans {
		trace.SpanFromContext(w.ctx).SetAttributes(dropped.Int(w.spans - maxSpans))
		return
	}
	if e.Exit != nil {
		about = append(about, exitCode.Int(*e.Exit))
	}
	end := e.At
	if end.IsZero() {
		end = w.began.Add(e.Since)
	}
	_, span := w.recorder.tracer.Start(w.ctx, name, trace.WithTimestamp(end.Add(-e.Took)), trace.WithAttributes(about...))
	if e.Failed {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(end))
}

// toolName returns the name of a tool from the title of its call. Any other title is "other":
// it may hold a text of the agent.
func toolName(title string) string {
	title = strings.TrimPrefix(title, "called ")
	if len(title) > 64 || title == "" || strings.Trim(title, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != "" {
		return "other"
	}
	return title
}

// End ends the record of a run, and sends all that is left. It takes at most two seconds. The error
// says what could not be sent.
func (r *Recorder) End(t report.Tick) error {
	close(r.ended)
	r.watching.Wait()
	if r.tick != nil {
		r.tick.SetAttributes(tracker.String(t.Tracker), issues.Int(t.Worked()), sessions.Int(t.Spent.Sessions), stopped.String(t.Stopped))
		r.tick.SetAttributes(usage(t.Spent.Usage, t.Budget.Prices)...)
		if len(t.Errors) > 0 {
			r.tick.SetStatus(codes.Error, "")
		}
		end := t.Ended
		if end.IsZero() {
			end = time.Now()
		}
		r.tick.End(trace.WithTimestamp(end))
	}
	r.measure(Measure(t))
	ctx, cancel := context.WithTimeout(context.Background(), sendTime)
	defer cancel()
	var sending sync.WaitGroup
	sending.Go(func() { r.failures.handle(traces, r.traces.Shutdown(ctx)) })
	sending.Go(func() { r.failures.handle(metrics, r.metrics.Shutdown(ctx)) })
	sending.Wait()
	if err := r.failures.take(); err != nil {
		return fmt.Errorf("telemetry: %w: see the variables OTEL_EXPORTER_OTLP_*", err)
	}
	return nil
}

// measure records the numbers of the run.
func (r *Recorder) measure(numbers []Number) {
	meter := r.metrics.Meter("symphony")
	for _, n := range numbers {
		var labels []attribute.KeyValue
		for _, label := range n.Labels {
			labels = append(labels, attribute.String(label[0], label[1]))
		}
		with := metric.WithAttributes(labels...)
		if n.Sum {
			counter, err := meter.Float64Counter(n.Name, metric.WithUnit(n.Unit), metric.WithDescription(n.Help))
			if r.failures.Handle(err); err == nil {
				counter.Add(context.Background(), n.Value, with)
			}
			continue
		}
		gauge, err := meter.Float64Gauge(n.Name, metric.WithUnit(n.Unit), metric.WithDescription(n.Help))
		if r.failures.Handle(err); err == nil {
			gauge.Record(context.Background(), n.Value, with)
		}
	}
}
