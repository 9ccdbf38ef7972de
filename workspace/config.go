package workspace

import "time"

// Config is the workspace and hooks sections of WORKFLOW.md (SPEC §5.3.3, §5.3.4).
type Config struct {
	Root   string // absolute
	Hooks  Hooks
	Limits Limits // of each agent
}

// Hooks are shell scripts run by `bash -lc` in the workspace. An empty one does not exist.
type Hooks struct {
	AfterCreate  string
	BeforeRun    string
	AfterRun     string
	BeforeRemove string
	Timeout      time.Duration // of each hook; positive
	Env          []string      // names of environment variables they see besides the plain ones
}
