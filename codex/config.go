package codex

import (
	"encoding/json"
	"time"
)

// Config is the codex section of WORKFLOW.md (SPEC §5.3.6). The three policy
// values belong to Codex: they are passed through as they are, and nil means
// that the workflow says nothing.
type Config struct {
	Command           string // run by `bash -lc` in the workspace
	ApprovalPolicy    json.RawMessage
	ThreadSandbox     json.RawMessage
	TurnSandboxPolicy json.RawMessage
	Model             string        // Codex's own default when empty
	Effort            string        // likewise
	TurnTimeout       time.Duration // of one turn in all
	ReadTimeout       time.Duration // of one request; the slowest two get more
	StallTimeout      time.Duration // of silence; not positive is off
	MaxToolCalls      int           // of one session; not positive is the default
	Env               []string      // names of environment variables the agent sees besides the plain ones
	Deny              []string      // absolute paths that the agent may not read, besides those of [Options]
}
