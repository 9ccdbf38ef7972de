package workflow

import (
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// Env holds what a workflow needs from outside the file.
type Env struct {
	Lookup     func(name string) (string, bool) // one environment variable; nil finds none
	Home       string                           // replaces ~
	TempDir    string                           // the system's temporary folder
	Actions    bool                             // inside GitHub Actions
	RunnerTemp string                           // the job's own temporary folder, inside Actions
	Trackers   []tracker.Kind                   // the kinds of tracker that a workflow may name
}

// Workflow is the content of WORKFLOW.md (SPEC §4.1.2). Its maps, slices and
// pointers are shared between readers and must not be changed.
type Workflow struct {
	Path     string // absolute
	Settings Settings
	Prompt   string   // the Markdown body, trimmed
	Warnings []string // for people: ignored or suspicious settings, one sentence each
}

// Settings holds the typed values of the front matter (SPEC §4.1.3).
type Settings struct {
	Tracker   Tracker
	Poll      time.Duration // between two ticks; positive
	Workspace workspace.Config
	Policy    schedule.Policy
	MaxTurns  int // of one session; positive
	Codex     codex.Config
	Port      *int // of the status server: nil is off, 0 any free port
}

// Tracker selects an adapter and holds its settings.
type Tracker struct {
	Kind        string         // the name of a kind
	Config      tracker.Config // which opens the adapter; it may hold the credential
	Credentials []string       // the values of the settings that are credentials
	SecretEnv   []string       // environment variables that hold a credential, or would if nothing were written
}
