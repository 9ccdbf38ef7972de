package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner"
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
func (a *app) place(workflowPath string) (place, error) {
	kind, rest, found := strings.Cut(a.state, ":")
	switch {
	case a.state == "":
		return &stateFile{path: filepath.Join(folder(workflowPath), "state.json"), readOnly: a.dryRun, redactor: a.redactor}, nil
	case found && kind == "file" && rest != "":
		path, err := filepath.Abs(rest)
		return &stateFile{path: path, readOnly: a.dryRun, redactor: a.redactor}, err
	case found && kind == "branch" && rest != "":
		return a.stateBranch(workflowPath, rest)
	}
	return nil, fmt.Errorf("%w: --state %q: want file:PATH or branch:NAME", errUsage, a.state)
}

// folder is where this program keeps what belongs to a workflow.
func folder(workflowPath string) string {
	return filepath.Join(filepath.Dir(workflowPath), ".symphony")
}

// stateFile is a state in a file.
type stateFile struct {
	path     string
	readOnly bool // a dry run looks without the lock, and never writes
	redactor *redact.Redactor
	file     *store.File
}

func (f *stateFile) Load(ctx context.Context) (*schedule.State, store.Revision, error) {
	if f.readOnly {
		s, err := store.ReadFile(ctx, f.path)
		return s, "", err
	}
	if f.file == nil {
		file, err := store.OpenFile(f.path)
		if err != nil {
			return nil, "", err
		}
		f.file = file
	}
	return f.file.Load(ctx)
}

func (f *stateFile) Save(ctx context.Context, s *schedule.State, rev store.Revision) (store.Revision, error) {
	return f.file.Save(ctx, redacted(s, f.redactor), rev)
}

func (f *stateFile) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// stateBranch is a state on a branch of the repository that GITHUB_REPOSITORY,
// or else the github tracker, names.
func (a *app) stateBranch(workflowPath, name string) (place, error) {
	repo, api, token, err := a.repository(workflowPath)
	if err != nil {
		return nil, err
	}
	b, err := store.OpenBranch(store.BranchConfig{Repo: repo, Branch: name, APIURL: api, Token: token, Page: a.page}, http.DefaultClient)
	if err != nil {
		return nil, fmt.Errorf("%w: --state %q: %w", errUsage, a.state, err)
	}
	return branch{b, a.redactor}, nil
}

// page is the README.md of the state branch.
func (a *app) page(s *schedule.State, now time.Time) string {
	const columns = 120
	text := a.redactor.String(report.State(s, now).Text(columns))
	return "# What Symphony is doing\n\nWritten by every run that changes something; `state.json` is what it goes by.\n\n~~~text\n" +
		strings.ReplaceAll(text, "~~~", "---") + "~~~\n"
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
		return "", "", "", fmt.Errorf("%w: --state %q: set GITHUB_REPOSITORY to owner/name, and GITHUB_TOKEN to a token that may write its contents", errUsage, a.state)
	}
	return repo, api, token, nil
}

type branch struct {
	*store.Branch
	redactor *redact.Redactor
}

func (b branch) Save(ctx context.Context, s *schedule.State, rev store.Revision) (store.Revision, error) {
	return b.Branch.Save(ctx, redacted(s, b.redactor), rev)
}

func (branch) Close() error { return nil }

// redacted is the state without the secrets that its texts may quote.
func redacted(s *schedule.State, r *redact.Redactor) *schedule.State {
	clean := s.Clone()
	for id, c := range clean.Claims {
		c.Title, c.URL, c.Why = r.String(c.Title), r.String(c.URL), r.String(c.Why)
		clean.Claims[id] = c
	}
	clean.Pause.Why = r.String(clean.Pause.Why)
	return clean
}
