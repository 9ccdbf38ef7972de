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
	locks := ""
	if a.setup().Update != "" {
		locks = " It changes lock files to what the manifests say first, so change the manifests alone."
	}
	return codex.Tool{
		Name: "setup",
		Description: "Prepare the project again in the workspace, as it was prepared before the session, " + with + ". " +
			"Call it when you have changed what the project depends on." + locks + " The answer is the end of the output.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		Timeout:     2*a.setup().Timeout + time.Minute, // of both scripts
		Call: func(ctx context.Context, _ json.RawMessage) (string, bool) {
			text, ok := a.callSetup(ctx)
			return a.Redact(text), ok
		},
	}
}

// callSetup answers a call of the tool.
func (a *attempt) callSetup(ctx context.Context) (answer string, ok bool) {
	var err error
	if a.setup().Update != "" {
		err = a.runScript(ctx, updateKey, "", nil)
	}
	if err == nil {
		err = a.runScript(ctx, runKey, "", nil)
	}
	failed, isScript := errors.AsType[*scriptError](err)
	switch {
	case err == nil:
		return "The project is prepared.", true
	case !isScript:
		return "The project was not prepared: " + err.Error(), false
	}
	answer = "The project was not prepared: " + failed.key + " failed" + a.offline() + ": " + failed.how + ". The end of its output:\n\n" + lastLines(failed.output)
	if a.offline() != "" {
		answer += "\n\nWhat is not in the caches cannot be fetched. If the work needs it, name it in your description, and say that a person can allow it with setup.for_agent: network."
	}
	if a.setup().Update == "" {
		answer += "\n\nIf a lock file has to change for it, say also that a person can write the script that changes it into setup.update."
	}
	return answer, false
}
