package workflow

import (
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
)

// Env is what a workflow may ask of the outside.
type Env struct {
	Lookup     func(name string) (string, bool) // one environment variable; nil finds none
	Home       string                           // what ~ stands for
	TempDir    string                           // the system's temporary folder
	Actions    bool                             // inside GitHub Actions
	RunnerTemp string                           // the job's own temporary folder, inside Actions
}

// Workflow is one reading of WORKFLOW.md (SPEC §4.1.2). Its maps, slices and
// pointers are shared between readers and must not be changed.
type Workflow struct {
	Path     string // absolute
	Settings Settings
	Prompt   string   // the Markdown body, trimmed
	Warnings []string // what was ignored or looks wrong, one sentence each
}

// Settings are the typed values of the front matter (SPEC §4.1.3).
type Settings struct {
	Tracker   Tracker
	Poll      time.Duration // between two ticks; positive
	Workspace workspace.Config
	Policy    schedule.Policy
	MaxTurns  int // of one session; positive
	Codex     codex.Config
	Port      *int // of the status server: nil is off, 0 any free port
}

// Tracker selects an adapter and holds its settings. Apart from the presence of
// what a kind cannot do without, the settings are for the adapter to check.
type Tracker struct {
	Kind      string         // file, github or linear
	Provider  map[string]any // tracker.provider and the flat keys, $NAME resolved; may hold the credential
	SecretEnv []string       // environment variables the credential was read from
}
