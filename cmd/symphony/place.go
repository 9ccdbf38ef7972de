package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/redact"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
)

// place is where the state is kept between runs.
type place interface {
	runner.Store
	Close() error
}

// place is what --state names, or the default beside WORKFLOW.md. Nothing is
// opened, locked or asked for before the first Load: bad settings are found
// before anything is touched.
func (a *app) place(workflowPath string) (p place, err error) {
	kind, rest, found := strings.Cut(a.state, ":")
	file := &stateFile{path: filepath.Join(folder(workflowPath), "state.json"), readOnly: a.dryRun, redactor: a.redactor}
	switch {
	case a.state == "":
		return file, nil
	case found && (kind == "file" || kind == "cache") && rest != "":
		if kind == "cache" {
			file.witness = filepath.Join(private(workflowPath), "generation")
			file.warn = func(text string) { a.warnings = append(a.warnings, text) }
		}
		file.path, err = filepath.Abs(rest)
		return file, err
	case found && kind == "branch" && rest != "":
		return a.stateBranch(workflowPath, rest)
	}
	return nil, fmt.Errorf("%w: %s: want file:PATH, branch:NAME or cache:PATH", errUsage, a.stateOption())
}

// folder is where this program keeps what belongs to a workflow.
func folder(workflowPath string) string {
	return filepath.Join(filepath.Dir(workflowPath), ".symphony")
}

// private is the part of it that belongs to sessions: a cache keeps it by itself.
func private(workflowPath string) string { return filepath.Join(folder(workflowPath), "codex") }

// denied returns what agents may not read of the user's keys and of what this
// program keeps. A state file elsewhere is denied by its folder, because a save
// puts a new file in its place, which a command that runs already could read;
// but not by a folder that holds WORKFLOW.md or the user's home as well.
func (a *app) denied(workflowPath string) attempt.Denied {
	d := attempt.DenyCredentials(a.getenv)
	d.Paths = append(d.Paths, folder(workflowPath))
	kind, path, _ := strings.Cut(a.state, ":")
	if kind != "file" && kind != "cache" {
		return d
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return d // place fails too
	}
	home, _ := a.getenv("HOME")
	shared := func(other string) bool {
		rest, err := filepath.Rel(filepath.Dir(path), other)
		return other != "" && err == nil && filepath.IsLocal(rest)
	}
	if shared(workflowPath) || shared(home) || shared(os.TempDir()) {
		d.Paths = append(d.Paths, path)
	} else {
		d.Paths = append(d.Paths, filepath.Dir(path))
	}
	return d
}

// stateBranch is a state on a branch of the repository that GITHUB_REPOSITORY,
// or else the github tracker, names.
func (a *app) stateBranch(workflowPath, name string) (place, error) {
	repo, api, token, err := a.repository(workflowPath)
	if err != nil {
		return nil, err
	}
	server, _ := a.getenv("GITHUB_SERVER_URL")
	links := report.Links{Server: cmp.Or(server, "https://github.com"), Repository: repo, Branch: name}
	b, err := store.OpenBranch(store.BranchConfig{Repo: repo, Branch: name, APIURL: api, Token: token, Page: a.page(links)}, http.DefaultClient)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errUsage, a.stateOption(), err)
	}
	return branch{b, a.redactor}, nil
}

// page is the README.md of the state branch.
func (a *app) page(l report.Links) func(*schedule.State, time.Time) string {
	return func(s *schedule.State, now time.Time) string {
		return a.redactor.String(report.State(s, now).Markdown(l))
	}
}

// repository is where the state branch is, and how to get there.
func (a *app) repository(workflowPath string) (repo, api, token string, err error) {
	repo, _ = a.getenv("GITHUB_REPOSITORY")
	api, _ = a.getenv("GITHUB_API_URL")
	token, _ = a.getenv("GITHUB_TOKEN")
	if wf, err := a.workflows(workflowPath).Current(); err == nil && wf.Settings.Tracker.Kind == "github" {
		named, _ := wf.Settings.Tracker.Provider["repo"].(string)
		repo = cmp.Or(repo, named)
	}
	if repo == "" || token == "" {
		return "", "", "", fmt.Errorf("%w: %s: set GITHUB_REPOSITORY to owner/name, and GITHUB_TOKEN to a token that may write its contents", errUsage, a.stateOption())
	}
	return repo, api, token, nil
}

type branch struct {
	*store.Branch
	redactor *redact.Redactor
}

func (b branch) Save(ctx context.Context, s *schedule.State, rev store.Revision) (store.Revision, error) {
	return b.Branch.Save(ctx, cleanState(s, b.redactor), rev)
}

func (branch) Close() error { return nil }

// checkWrite finds a token that may only read the state before anything is done
// that takes time or costs something.
func (a *app) checkWrite(ctx context.Context, state place) error {
	if b, ok := state.(branch); ok {
		return b.CheckWrite(ctx)
	}
	return nil
}
