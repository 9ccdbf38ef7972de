// Package telemetry tells other systems what a run does: an OpenTelemetry collector, over
// OTLP/HTTP, and Prometheus, in a file.
//
// A [Recorder] makes one trace for each tick: a span for the tick, below it one for each session,
// and below that one for each turn, command, change of files, tool call and hook. They hold
// metadata alone: names, times, exit statuses, tokens, dollars. No text of an issue, a prompt or
// an agent is in them. In a run of many ticks each session has a trace of its own.
//
// The numbers of a tick ([Measure]) are a list, from which both the metrics of OTLP and the file
// are made.
//
// It is off unless telemetry.otlp of WORKFLOW.md or --telemetry switches it on: a runner's
// environment may have OTEL_* for other tools. Then the standard variables say where the collector
// is, which of traces and metrics it gets ([Problems] says why neither), and what a resource is
// called. Nothing here makes a tick fail: everything has two seconds at the end, redirects are not
// followed, answers are bounded, and all that went wrong is one warning, without the address and
// the words of the collector, which may hold a secret.
package telemetry
