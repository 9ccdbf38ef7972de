package workflow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/identity"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/setup"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// Env holds the inputs of a workflow from outside the file.
type Env struct {
	Lookup     func(name string) (string, bool) // one environment variable; nil finds none
	Home       string                           // replaces ~
	TempDir    string                           // the system's temporary folder
	Actions    bool                             // inside GitHub Actions
	RunnerTemp string                           // the job's own temporary folder, inside Actions
	App        bool                             // a GitHub App may give the token of the repository
	Trackers   []tracker.Kind                   // the kinds of tracker that a workflow may name
}

// Workflow is the content of WORKFLOW.md (SPEC §4.1.2). Its maps, slices and
// pointers are shared between readers and must not be changed.
type Workflow struct {
	Path     string // absolute
	Settings Settings
	Prompt   string // the Markdown body, trimmed
	// PromptLine is the line of the file on which Prompt begins.
	PromptLine int
	Warnings   []string // sentences for people about ignored or suspicious settings
}

// Settings holds the typed values of the front matter (SPEC §4.1.3).
type Settings struct {
	Tracker   Tracker
	Poll      time.Duration    // time between two ticks; positive
	Workspace workspace.Config // the Root is empty with Worker.Hosts
	Worker    Worker
	Policy    schedule.Policy
	MaxTurns  int // turns of one session; positive
	// RunsOn holds the labels of the runner that works on an issue in a fleet, by a label
	// of the issue in normal form.
	RunsOn map[string][]string
	Codex  codex.Config
	// Identity gets tokens for the model in place of an API key; zero for none.
	Identity identity.Config
	Port     *int // port of the status server: nil is off, 0 any free port

	Repository *Repository // nil: the hooks bring the files and take the work
	Delivery   Delivery
	Feedback   Feedback
	// SandboxHooks says that hooks run inside the agent's sandbox. It is never set
	// without a Repository.
	SandboxHooks bool
	// TrustHooks says that hooks may run outside the sandbox in spite of a Repository.
	TrustHooks bool
	// Images gives the model the pictures of issues and comments.
	Images    bool
	Telemetry bool // sends traces and metrics to an OpenTelemetry collector
	// Loopback gives the agent's commands a loopback of their own.
	Loopback bool
	// UnixSockets lets them open Unix sockets of their own. It is never set without Loopback.
	UnixSockets bool
	// Network names the hosts that the agent's commands reach, HookNetwork the hosts of hooks in the
	// sandbox, and SetupNetwork the hosts of Setup.Run.
	Network, HookNetwork, SetupNetwork codex.Network
	// Services are the ports of this machine's loopback that all these commands reach.
	Services []int
	Setup    setup.Config
	Notify   Notify
}

// Tracker selects an adapter and holds its settings.
type Tracker struct {
	Kind        string         // the name of a kind
	Config      tracker.Config // opens the adapter; it may hold the credential
	Credentials []string       // the values of the settings that are credentials
	SecretEnv   []string       // environment variables that hold a credential, or would if nothing were written
}

// Credentials returns the values of all settings that are credentials.
func (s Settings) Credentials() []string {
	credentials := slices.Clone(s.Tracker.Credentials)
	if s.Repository != nil && s.Repository.Token != "" {
		credentials = append(credentials, s.Repository.Token)
	}
	if token := s.Codex.Endpoint.Token; token != "" {
		credentials = append(credentials, token)
	}
	return append(credentials, s.Notify.credentials()...)
}

// SecretEnv returns the names of the environment variables of all settings that are
// credentials, which no child process may see.
func (s Settings) SecretEnv() []string {
	names := slices.Clone(s.Tracker.SecretEnv)
	more := slices.Clone(s.Notify.SecretEnv)
	if s.Repository != nil {
		more = append(more, s.Repository.SecretEnv...)
	}
	if name := s.Codex.Endpoint.SecretEnv; name != "" {
		more = append(more, name)
	}
	for _, name := range more {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Source is a workflow file that may change while the program runs (SPEC §6.2).
// It belongs to one goroutine.
type Source struct {
	path string
	env  Env

	content []byte   // content that was parsed last; nil before the first time
	err     error    // error of that parse
	good    Workflow // the last one that parsed without an error

	read   stamp // stamp of the file that was read last
	looked stamp // stamp of the file at the last call of Changed
}

// stamp identifies a content of a file, as far as its metadata can. It is zero for a file
// that is not there.
type stamp struct {
	size     int64
	modified time.Time
	inode    uint64
}

// stampOf returns the stamp of the file at path; a link counts as its target.
func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	s := stamp{size: info.Size(), modified: info.ModTime()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode = uint64(sys.Ino)
	}
	return s
}

// NewSource returns a Source for the workflow file at path, without reading it.
func NewSource(path string, env Env) *Source {
	return &Source{path: path, env: env}
}

// Changed reports whether the file seems to have changed since Current read it, without
// reading it. It is to be called again and again: a change counts once it is there for two
// calls, so that nobody reads a file that is being written.
func (s *Source) Changed() bool {
	now := stampOf(s.path)
	settled := now == s.looked
	s.looked = now
	return settled && now != s.read
}

// Current reads the file again. When it cannot be used, Current returns the error
// together with the last good workflow, or with the zero Workflow if there never was
// one. It fails as [Parse] does, and with [ErrMissingFile]. While there is an error
// the caller must not dispatch; with a good workflow it continues to reconcile running
// sessions (SPEC §6.3).
func (s *Source) Current() (Workflow, error) {
	s.read = stampOf(s.path)
	path, content, err := read(s.path)
	if err != nil {
		return s.good, err
	}
	if s.content != nil && bytes.Equal(content, s.content) {
		return s.good, s.err
	}
	parsed, err := Parse(path, content, s.env)
	s.content, s.err = content, err
	if err == nil {
		s.good = parsed
	}
	return s.good, err
}

// read returns the absolute path of the file and its content, which is never nil. It
// reads at most one byte more than a workflow may have, and never waits for the other end
// of a pipe.
func read(path string) (string, []byte, error) {
	fail := func(err error) (string, []byte, error) {
		todo := "name a file that can be read"
		if errors.Is(err, fs.ErrNotExist) {
			todo = "write one with: symphony init"
			if filepath.Base(path) != "WORKFLOW.md" { // init would not write this one
				todo = "check its name, or write a WORKFLOW.md with: symphony init"
			}
		}
		return "", nil, fmt.Errorf("read workflow: %w: %w; %s", ErrMissingFile, err, todo)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return fail(err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return fail(err)
	} else if !info.Mode().IsRegular() {
		return fail(&fs.PathError{Op: "read", Path: path, Err: errors.New("is not a regular file")})
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return fail(err)
	}
	return path, content, nil
}
