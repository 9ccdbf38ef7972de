package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/symphony-runner/symphony/codex"
)

// setupTool returns the tool by which the agent prepares its own tree again.
func (a *attempt) setupTool() codex.Tool {
	with := "with the same hosts as before"
	if !a.setup().Online || len(a.setup().Network.Hosts) == 0 {
		with = "without a network, from the caches"
	}
	return codex.Tool{
		Name: "setup",
		Description: "Prepare the project again in the workspace, as it was prepared before the session, " + with + ". " +
			"Call it when you have changed what the project depends on. The answer is the end of the output.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		Timeout:     a.setup().Timeout + time.Minute,
		Call: func(ctx context.Context, _ json.RawMessage) (string, bool) {
			text, ok := a.callSetup(ctx)
			return a.Redact(text), ok
		},
	}
}

// callSetup answers a call of the tool.
func (a *attempt) callSetup(ctx context.Context) (answer string, ok bool) {
	err := a.runScript(ctx, "", nil)
	failed, isScript := errors.AsType[*scriptError](err)
	switch {
	case err == nil:
		return "The project is prepared.", true
	case !isScript:
		return "The project was not prepared: " + err.Error(), false
	}
	answer = "The project was not prepared: setup.run failed" + a.offline() + ": " + failed.how + ". The end of its output:\n\n" + lastLines(failed.output)
	if a.offline() != "" {
		answer += "\n\nWhat is not in the caches cannot be fetched. If the work needs it, name it in your description, and say that a person can allow it with setup.for_agent: network."
	}
	return answer, false
}
