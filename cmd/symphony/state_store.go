package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// stateUse says what a command does with the state.
type stateUse int

const (
	stateReadOnly stateUse = iota // shows it or plans on it: no lock, no Save
	stateOfRun                    // holds the lock of a file for a whole run
	stateEdit                     // changes it once, also while a run has it open
)

// stateStore keeps the state where --state says. Its backend is opened by the first
// Load. It redacts what it saves.
type stateStore struct {
	open       func(context.Context) (backend, error)
	checkWrite func(context.Context) error // nil when nothing can be checked ahead of a Save
	exclusive  bool                        // on this machine, the run that has loaded it is the only one
	warn       func(string)                // called at most once, when the state was rolled back
	redactor   *redact.Redactor

	backend backend // zero before the first Load
}

// backend is an open state of one kind. Nil functions do nothing.
type backend struct {
	runner.Store
	close func() error
	// rolledBack is [store.Cache.RolledBack].
	rolledBack func() (loaded, newest int64, ok bool)
}

func (s *stateStore) Load(ctx context.Context) (*schedule.State, store.Revision, error) {
	if s.backend.Store == nil {
		b, err := s.open(ctx)
		if err != nil {
			return nil, "", err
		}
		s.backend = b
	}
	state, rev, err := s.backend.Load(ctx)
	if loaded, newest, ok := s.rolledBack(); err == nil && ok && s.warn != nil {
		s.warn(fmt.Sprintf("the cache brought back an older state, generation %d instead of %d: what runs did in between is lost, and their claims count as interrupted", loaded, newest))
		s.warn = nil
	}
	return state, rev, err
}

func (s *stateStore) Save(ctx context.Context, state *schedule.State, rev store.Revision) (store.Revision, error) {
	return s.backend.Save(ctx, redacted(state, s.redactor), rev)
}

func (s *stateStore) Close() error {
	if s.backend.close == nil {
		return nil
	}
	return s.backend.close()
}

// CheckWrite returns an error when the token may only read the state, before
// anything is done that takes time or costs something.
func (s *stateStore) CheckWrite(ctx context.Context) error {
	if s.checkWrite == nil {
		return nil
	}
	return s.checkWrite(ctx)
}

// rolledBack reports whether the state as it was loaded last is older than one that
// was saved, with the generations of both.
func (s *stateStore) rolledBack() (loaded, newest int64, ok bool) {
	if s.backend.rolledBack == nil {
		return 0, 0, false
	}
	return s.backend.rolledBack()
}

// openState returns the store that --state names, or the default beside WORKFLOW.md.
// Nothing is locked or requested before the first Load: bad settings are found
// before anything is touched.
func (a *app) openState(wf workflow.Workflow, use stateUse) (*stateStore, error) {
	kind, rest, found := strings.Cut(a.state, ":")
	switch {
	case a.state == "":
		return a.fileState(filepath.Join(dataFolder(wf.Path), "state.json"), use).in(wf.Path), nil
	case found && kind == "file" && rest != "":
		path, err := filepath.Abs(rest)
		if filepath.Dir(path) == dataFolder(wf.Path) {
			return a.fileState(path, use).in(wf.Path), err
		}
		return a.fileState(path, use), err
	case found && kind == "cache" && rest != "":
		path, err := filepath.Abs(rest)
		return a.cacheState(path, filepath.Join(sessionFolder(wf.Path), "generation"), use).in(wf.Path), err
	case found && kind == "branch" && rest != "":
		return a.branchState(wf, rest)
	}
	return nil, fmt.Errorf("%w: %s: want file:PATH, branch:NAME or cache:PATH", errUsage, a.stateOption())
}

// in returns the store, which makes the data folder of a workflow before it writes there.
func (s *stateStore) in(workflowPath string) *stateStore {
	open := s.open
	s.open = func(ctx context.Context) (backend, error) {
		if s.exclusive {
			if err := makeDataFolder(workflowPath); err != nil {
				return backend{}, err
			}
		}
		return open(ctx)
	}
	return s
}

func (a *app) fileState(path string, use stateUse) *stateStore {
	return &stateStore{redactor: a.redactor, exclusive: use != stateReadOnly, open: func(ctx context.Context) (backend, error) {
		var f *store.File
		var err error
		switch use {
		case stateReadOnly:
			return backend{Store: fileReader(path)}, nil
		case stateEdit:
			f, err = store.EditFile(ctx, path)
		default:
			f, err = store.OpenFile(path)
		}
		if err != nil {
			return backend{}, err
		}
		return backend{Store: f, close: f.Close}, nil
	}}
}

// fileReader reads the state in the file of this path without its lock.
type fileReader string

func (path fileReader) Load(ctx context.Context) (*schedule.State, store.Revision, error) {
	s, err := store.ReadFile(ctx, string(path))
	return s, "", err
}

func (path fileReader) Save(context.Context, *schedule.State, store.Revision) (store.Revision, error) {
	return "", fmt.Errorf("save state %s: it was opened to be read", string(path))
}

func (a *app) cacheState(path, highWaterPath string, use stateUse) *stateStore {
	s := &stateStore{redactor: a.redactor, exclusive: use != stateReadOnly, open: func(ctx context.Context) (backend, error) {
		var c *store.Cache
		var err error
		switch use {
		case stateReadOnly:
			c = store.OpenCacheReadOnly(path, highWaterPath)
		case stateEdit:
			c, err = store.EditCache(ctx, path, highWaterPath)
		default:
			c, err = store.OpenCache(path, highWaterPath)
		}
		if err != nil {
			return backend{}, err
		}
		return backend{Store: c, close: c.Close, rolledBack: c.RolledBack}, nil
	}}
	s.warn = func(text string) { a.warnings = append(a.warnings, text) }
	return s
}

// branchState returns the state on a branch of the workflow's own repository; see
// [app.ownRepository].
func (a *app) branchState(wf workflow.Workflow, name string) (*stateStore, error) {
	repo, api, token, err := a.repository(wf)
	if err != nil {
		return nil, err
	}
	links := a.repositoryLinks(wf, repo)
	links.Branch = name
	b, err := store.OpenBranch(store.BranchConfig{Repo: repo, Branch: name, APIURL: api, Token: token, Page: a.statusPage(links, commentsOf(wf))}, http.DefaultClient)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errUsage, a.stateOption(), err)
	}
	open := func(context.Context) (backend, error) { return backend{Store: b}, nil }
	return &stateStore{open: open, checkWrite: b.CheckWrite, redactor: a.redactor}, nil
}

// repositoryLinks returns the links to a repository and, inside Actions, to the workflow
// that runs there.
func (a *app) repositoryLinks(wf workflow.Workflow, repo string) report.Links {
	server, _ := a.server(wf)
	l := report.Links{Server: server, Repository: repo}
	if a.actions.InActions() {
		event, _ := a.actions.Event() // without the payload if that cannot be read
		if file, found := strings.CutPrefix(event.File, ".github/workflows/"); found {
			l.Workflow = file
		}
	}
	return l
}

// statusPage returns the function that writes the README.md of the state branch.
func (a *app) statusPage(l report.Links, comments schedule.Comments) func(*schedule.State, time.Time) string {
	return func(s *schedule.State, now time.Time) string {
		return a.redactor.String(report.State(s, now).HeardIn(comments).Markdown(l))
	}
}

// repository returns the repository that has the state branch and the workflow runs, the
// API that serves it, and the token.
func (a *app) repository(wf workflow.Workflow) (repo, api, token string, err error) {
	repo = a.ownRepository(wf.Path, wf)
	server, api := a.server(wf)
	token, _ = a.getenv("GITHUB_TOKEN")
	var missing []string
	if repo == "" {
		missing = append(missing, "GITHUB_REPOSITORY=OWNER/NAME")
	}
	if token == "" {
		missing = append(missing, "GITHUB_TOKEN="+tokenOfGH(client.HostOf(server)))
	}
	if missing != nil {
		return "", "", "", fmt.Errorf("%w: %s needs the repository and a token that may write its contents: export %s", errUsage, a.stateOption(), strings.Join(missing, " "))
	}
	return repo, api, token, nil
}
