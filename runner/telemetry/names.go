package telemetry

import "go.opentelemetry.io/otel/attribute"

// conventions is the version of the semantic conventions whose names gen_ai.* are below. They are
// in development there, and may change.
const conventions = "1.41.0"

// The names of attributes.
const (
	operation   = attribute.Key("gen_ai.operation.name")
	agent       = attribute.Key("gen_ai.agent.name")
	model       = attribute.Key("gen_ai.request.model")
	inputTokens = attribute.Key("gen_ai.usage.input_tokens")
	cachedInput = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	cacheWrites = attribute.Key("gen_ai.usage.cache_creation.input_tokens")
	outputParts = attribute.Key("gen_ai.usage.output_tokens")
	tool        = attribute.Key("gen_ai.tool.name")

	errorType = attribute.Key("error.type")
	exitCode  = attribute.Key("process.exit.code")

	issue      = attribute.Key("symphony.issue")
	attemptNo  = attribute.Key("symphony.attempt")
	sessionNo  = attribute.Key("symphony.session")
	workerHost = attribute.Key("symphony.worker_host")
	outcome    = attribute.Key("symphony.outcome")
	next       = attribute.Key("symphony.next")
	turns      = attribute.Key("symphony.turns")
	cost       = attribute.Key("symphony.cost.usd")
	dropped    = attribute.Key("symphony.spans.dropped")
	issues     = attribute.Key("symphony.issues")
	sessions   = attribute.Key("symphony.sessions")
	stopped    = attribute.Key("symphony.stopped")
	tracker    = attribute.Key("symphony.tracker")
	runID      = attribute.Key("cicd.pipeline.run.id")
	runAttempt = attribute.Key("symphony.run.attempt")
	shard      = attribute.Key("symphony.shard")
)
