package wiring

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// StateUse is the use of the state by a command.
type StateUse int

const (
	StateReadOnly StateUse = iota // shows it or plans on it: no lock, no Save
	StateOfRun                    // holds the lock of a file for a whole run
	StateEdit                     // changes it once, also while a run has it open
)

// StatePlace is the place of the state: what --state says, or the default beside WORKFLOW.md.
type StatePlace struct {
	GitHub
	Flag     string // the value of --state; empty for the default
	Redactor *redact.Redactor
	Warn     func(string) // takes a warning about a store that was opened
}

// Open returns the store that --state names, or the default beside WORKFLOW.md.
// Nothing is locked or requested before the first Load: bad settings are found
// before anything is touched.
func (s StatePlace) Open(wf workflow.Workflow, use StateUse) (*StateStore, error) {
	kind, rest, found := strings.Cut(s.Flag, ":")
	switch {
	case s.Flag == "":
		return s.file(filepath.Join(DataFolder(wf.Path), "state.json"), use).in(wf.Path), nil
	case found && kind == "file" && rest != "":
		path, err := filepath.Abs(rest)
		if filepath.Dir(path) == DataFolder(wf.Path) {
			return s.file(path, use).in(wf.Path), err
		}
		return s.file(path, use), err
	case found && kind == "cache" && rest != "":
		path, err := filepath.Abs(rest)
		return s.cache(path, filepath.Join(SessionFolder(wf.Path), "generation"), use).in(wf.Path), err
	case found && kind == "branch" && rest != "":
		return s.branch(wf, rest)
	}
	return nil, fmt.Errorf("%w: %s: want file:PATH, branch:NAME or cache:PATH", ErrUsage, s.StateOption())
}

func (s StatePlace) file(path string, use StateUse) *StateStore {
	return &StateStore{Redactor: s.Redactor, Exclusive: use != StateReadOnly, Open: func(ctx context.Context) (runner.Store, error) {
		return openStateFile(ctx, path, use)
	}}
}

func openStateFile(ctx context.Context, path string, use StateUse) (*store.File, error) {
	switch use {
	case StateReadOnly:
		return store.FileToRead(path), nil
	case StateEdit:
		return store.EditFile(ctx, path)
	}
	return store.OpenFile(path)
}

func (s StatePlace) cache(path, highWaterPath string, use StateUse) *StateStore {
	return &StateStore{Redactor: s.Redactor, Warn: s.Warn, Exclusive: use != StateReadOnly, Open: func(ctx context.Context) (runner.Store, error) {
		f, err := openStateFile(ctx, path, use)
		if err != nil {
			return nil, err
		}
		return f.WithHighWater(highWaterPath), nil
	}}
}

// branch returns the state on a branch of the repository of [GitHub.OwnRepository].
func (s StatePlace) branch(wf workflow.Workflow, name string) (*StateStore, error) {
	repo, api, token, err := s.repository(wf)
	if err != nil {
		return nil, err
	}
	links := s.Links(wf, repo)
	links.Branch = name
	b, err := store.OpenBranch(store.BranchConfig{Repo: repo, Branch: name, APIURL: api, Token: token, Page: s.page(links, wf)}, http.DefaultClient)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUsage, s.StateOption(), err)
	}
	return &StateStore{Redactor: s.Redactor, Open: func(context.Context) (runner.Store, error) { return b, nil }}, nil
}

// page returns the function that writes the README.md of the state branch.
func (s StatePlace) page(l report.Links, wf workflow.Workflow) func(*schedule.State, time.Time) string {
	return func(state *schedule.State, now time.Time) string {
		view := report.State(state, now)
		view.Comments, view.Prices = CommentsOf(wf), wf.Settings.Policy.Budget.Prices
		return s.Redactor.String(view.Markdown(l))
	}
}

// repository returns the repository that has the state branch and the workflow runs, the
// API that serves it, and the token.
func (s StatePlace) repository(wf workflow.Workflow) (repo, api, token string, err error) {
	repo = s.OwnRepository(wf.Path, wf)
	server, api := s.server(wf)
	token = s.Value("GITHUB_TOKEN")
	var missing []string
	if repo == "" {
		missing = append(missing, "GITHUB_REPOSITORY=OWNER/NAME")
	}
	if token == "" {
		missing = append(missing, "GITHUB_TOKEN="+client.TokenCommand(client.HostOf(server)))
	}
	if missing != nil {
		return "", "", "", fmt.Errorf("%w: %s needs the repository and a token that may write its contents: export %s", ErrUsage, s.StateOption(), strings.Join(missing, " "))
	}
	return repo, api, token, nil
}

// client returns a client of the repository that has the workflow runs; nil if there is none.
func (s StatePlace) client(wf workflow.Workflow) *client.Client {
	repo, api, token, err := s.repository(wf)
	if err != nil {
		return nil
	}
	c, _ := client.New(client.Config{Repo: repo, APIURL: api, Token: token}, nil) // nil if the settings are wrong
	return c
}

// StateOption returns --state with its value, or inside Actions the inputs that set it.
func (s StatePlace) StateOption() string {
	kind, name, _ := strings.Cut(s.Flag, ":")
	switch {
	case s.Actions.InActions() && kind == "branch":
		return fmt.Sprintf("the input state-branch %q", name)
	case s.Actions.InActions() && kind == "cache":
		return `the input state "cache"`
	}
	return fmt.Sprintf("--state %q", s.Flag)
}

// BranchName returns the name of the branch that keeps the state; empty for another place.
func (s StatePlace) BranchName() string {
	if name, isBranch := strings.CutPrefix(s.Flag, "branch:"); isBranch {
		return name
	}
	return ""
}

// Path returns the file that keeps the state, if --state names one.
func (s StatePlace) Path() string {
	if kind, path, _ := strings.Cut(s.Flag, ":"); kind == "file" || kind == "cache" {
		return path
	}
	return ""
}

// FlagFor returns the --state with which printed commands reach the state of a workflow;
// empty if they find it in the folder where this command runs.
func (s StatePlace) FlagFor(workflowPath string) string {
	if here, err := filepath.Abs("WORKFLOW.md"); s.Flag != "" || err == nil && DataFolder(here) == DataFolder(workflowPath) {
		return s.Flag
	}
	return "file:" + filepath.Join(DataFolder(workflowPath), "state.json")
}

// CheckBranch returns an error for a state branch that holds the code.
func (s StatePlace) CheckBranch(event action.Event) error {
	name := s.BranchName()
	if name == "" {
		return nil
	}
	if event.Ref == "refs/heads/"+name || s.Value("GITHUB_HEAD_REF") == name || s.Value("GITHUB_BASE_REF") == name {
		return fmt.Errorf("%w: %s is the branch that is checked out: give the state a branch of its own, such as symphony-state", ErrUsage, s.StateOption())
	}
	return nil
}
