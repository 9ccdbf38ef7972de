package main

import (
	"cmp"
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

// stateUse is the use of the state by a command.
type stateUse int

const (
	stateReadOnly stateUse = iota // shows it or plans on it: no lock, no Save
	stateOfRun                    // holds the lock of a file for a whole run
	stateEdit                     // changes it once, also while a run has it open
)

// statePlace is the place of the state: what --state says, or the default beside WORKFLOW.md.
type statePlace struct {
	gitHub
	flag     string // the value of --state; empty for the default
	redactor *redact.Redactor
	warn     func(string) // takes a warning about a store that was opened
}

// open returns the store that --state names, or the default beside WORKFLOW.md.
// Nothing is locked or requested before the first Load: bad settings are found
// before anything is touched.
func (s statePlace) open(wf workflow.Workflow, use stateUse) (*stateStore, error) {
	kind, rest, found := strings.Cut(s.flag, ":")
	switch {
	case s.flag == "":
		return s.file(filepath.Join(dataFolder(wf.Path), "state.json"), use).in(wf.Path), nil
	case found && kind == "file" && rest != "":
		path, err := filepath.Abs(rest)
		if filepath.Dir(path) == dataFolder(wf.Path) {
			return s.file(path, use).in(wf.Path), err
		}
		return s.file(path, use), err
	case found && kind == "cache" && rest != "":
		path, err := filepath.Abs(rest)
		return s.cache(path, filepath.Join(sessionFolder(wf.Path), "generation"), use).in(wf.Path), err
	case found && kind == "branch" && rest != "":
		return s.branch(wf, rest)
	}
	return nil, fmt.Errorf("%w: %s: want file:PATH, branch:NAME or cache:PATH", errUsage, s.stateOption())
}

func (s statePlace) file(path string, use stateUse) *stateStore {
	return &stateStore{redactor: s.redactor, exclusive: use != stateReadOnly, open: func(ctx context.Context) (runner.Store, error) {
		return openStateFile(ctx, path, use)
	}}
}

func openStateFile(ctx context.Context, path string, use stateUse) (*store.File, error) {
	switch use {
	case stateReadOnly:
		return store.FileToRead(path), nil
	case stateEdit:
		return store.EditFile(ctx, path)
	}
	return store.OpenFile(path)
}

func (s statePlace) cache(path, highWaterPath string, use stateUse) *stateStore {
	return &stateStore{redactor: s.redactor, warn: s.warn, exclusive: use != stateReadOnly, open: func(ctx context.Context) (runner.Store, error) {
		f, err := openStateFile(ctx, path, use)
		if err != nil {
			return nil, err
		}
		return f.WithHighWater(highWaterPath), nil
	}}
}

// branch returns the state on a branch of the repository of [gitHub.ownRepository].
func (s statePlace) branch(wf workflow.Workflow, name string) (*stateStore, error) {
	repo, api, token, err := s.repository(wf)
	if err != nil {
		return nil, err
	}
	links := s.links(wf, repo)
	links.Branch = name
	b, err := store.OpenBranch(store.BranchConfig{Repo: repo, Branch: name, APIURL: api, Token: token, Page: s.page(links, wf)}, http.DefaultClient)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errUsage, s.stateOption(), err)
	}
	return &stateStore{redactor: s.redactor, open: func(context.Context) (runner.Store, error) { return b, nil }}, nil
}

// page returns the function that writes the README.md of the state branch.
func (s statePlace) page(l report.Links, wf workflow.Workflow) func(*schedule.State, time.Time) string {
	return func(state *schedule.State, now time.Time) string {
		view := report.State(state, now)
		view.Comments, view.Prices = commentsOf(wf), wf.Settings.Policy.Budget.Prices
		return s.redactor.String(view.Markdown(l))
	}
}

// repository returns the repository that has the state branch and the workflow runs, the
// API that serves it, and the token.
func (s statePlace) repository(wf workflow.Workflow) (repo, api, token string, err error) {
	repo = s.ownRepository(wf.Path, wf)
	server, api := s.server(wf)
	token = s.value("GITHUB_TOKEN")
	var missing []string
	if repo == "" {
		missing = append(missing, "GITHUB_REPOSITORY=OWNER/NAME")
	}
	if token == "" {
		missing = append(missing, "GITHUB_TOKEN="+client.TokenCommand(client.HostOf(server)))
	}
	if missing != nil {
		return "", "", "", fmt.Errorf("%w: %s needs the repository and a token that may write its contents: export %s", errUsage, s.stateOption(), strings.Join(missing, " "))
	}
	return repo, api, token, nil
}

// client returns a client of the repository that has the workflow runs; nil if there is none.
func (s statePlace) client(wf workflow.Workflow) *client.Client {
	repo, api, token, err := s.repository(wf)
	if err != nil {
		return nil
	}
	c, _ := client.New(client.Config{Repo: repo, APIURL: api, Token: token}, nil) // nil if the settings are wrong
	return c
}

// shown returns the place of the state as --state takes it.
func (s statePlace) shown(wf workflow.Workflow) string {
	return cmp.Or(s.flag, "file:"+shownPath(filepath.Join(dataFolder(wf.Path), "state.json")))
}

// stateOption returns --state with its value, or inside Actions the inputs that set it.
func (s statePlace) stateOption() string {
	kind, name, _ := strings.Cut(s.flag, ":")
	switch {
	case s.actions.InActions() && kind == "branch":
		return fmt.Sprintf("the input state-branch %q", name)
	case s.actions.InActions() && kind == "cache":
		return `the input state "cache"`
	}
	return fmt.Sprintf("--state %q", s.flag)
}

func (s statePlace) branchName() string {
	if name, isBranch := strings.CutPrefix(s.flag, "branch:"); isBranch {
		return name
	}
	return ""
}

func (s statePlace) path() string {
	if kind, path, _ := strings.Cut(s.flag, ":"); kind == "file" || kind == "cache" {
		return path
	}
	return ""
}

// flagFor returns the --state with which printed commands reach the state of a workflow;
// empty if they find it in the folder where this command runs.
func (s statePlace) flagFor(workflowPath string) string {
	if here, err := filepath.Abs("WORKFLOW.md"); s.flag != "" || err == nil && dataFolder(here) == dataFolder(workflowPath) {
		return s.flag
	}
	return "file:" + filepath.Join(dataFolder(workflowPath), "state.json")
}

// checkBranch returns an error for a state branch that holds the code.
func (s statePlace) checkBranch(event action.Event) error {
	name := s.branchName()
	if name == "" {
		return nil
	}
	if event.Ref == "refs/heads/"+name || s.value("GITHUB_HEAD_REF") == name || s.value("GITHUB_BASE_REF") == name {
		return fmt.Errorf("%w: %s is the branch that is checked out: give the state a branch of its own, such as symphony-state", errUsage, s.stateOption())
	}
	return nil
}
