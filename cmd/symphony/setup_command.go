package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/room"
	"github.com/symphony-runner/symphony/runner/setup"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// setupCommand prepares the project as the first session of a tick does.
type setupCommand struct {
	*app
	again bool
}

func (s *setupCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "setup [path-to-WORKFLOW.md]",
		Short: "Run setup.run of WORKFLOW.md now, and show its output",
		Long: `Run setup.run of WORKFLOW.md now, in the sandbox, on a clean checkout of the base, as the first session of a tick does. Its output is shown without secrets. What it makes is kept for the sessions on this machine.

Nothing is run if there is a preparation of the base already; --again runs it all the same.`,
		Example: "symphony setup\nsymphony setup --again # also if nothing has changed",
		RunE:    func(cmd *cobra.Command, args []string) error { return s.Run(cmd.Context(), args) },
	}
	takeWorkflow(cmd)
	cmd.Flags().BoolVar(&s.again, "again", false, "run it also if nothing has changed since the last time")
	return cmd
}

// Run prepares the project of a workflow.
func (s *setupCommand) Run(ctx context.Context, args []string) error {
	_, wf, err := s.workflow(args)
	if err != nil {
		return err
	}
	if wf.Settings.Repository == nil || wf.Settings.Setup.Run == "" {
		return fmt.Errorf("%w: %s has no setup.run, so there is nothing to prepare: write one with symphony init, or by hand", wiring.ErrUsage, filepath.Base(wf.Path))
	}
	began := time.Now()
	pack, made, err := s.prepare(ctx, wf)
	if err != nil {
		return err
	}
	return s.print(preparedProject{Made: made, Path: pack.Path, Bytes: pack.Size, Seconds: time.Since(began).Seconds()})
}

// prepare prepares the project in a temporary folder.
func (s *setupCommand) prepare(ctx context.Context, wf workflow.Workflow) (pack *setup.Pack, made bool, err error) {
	log := quiet()
	job, done, err := s.setupJob(ctx, wf, log)
	if err != nil {
		return nil, false, err
	}
	defer done()
	output := &text.LineWriter{To: s.Stderr, Safe: func(line string) string { return s.redactor.String(text.Lines(line)) }}
	job.Output = output
	pack, made, err = attempt.Prepare(ctx, job, s.again)
	output.End()
	return pack, made, err
}

// setupJob returns the job of a preparation, whose workspaces are temporary. done removes them.
func (s *setupCommand) setupJob(ctx context.Context, wf workflow.Workflow, log *slog.Logger) (job attempt.Job, done func(), err error) {
	folder, err := s.MakeTempFolder("symphony-setup-")
	if err != nil {
		return job, nil, err
	}
	var closing []func()
	done = func() {
		for _, end := range slices.Backward(closing) {
			end()
		}
	}
	closing = append(closing, func() { os.RemoveAll(folder) })
	defer func() {
		if err != nil {
			done()
		}
	}()
	if err = wiring.MakeDataFolder(wf.Path); err != nil {
		return job, nil, err
	}
	repository, err := s.opener().Repository(ctx, wf, log)
	if err != nil {
		return job, nil, err
	}
	store, err := repository.Host.Store(ctx, repository.Remote)
	if err != nil {
		return job, nil, err
	}
	closing = append(closing, func() { store.Close() })
	fetched, err := store.Fetch(ctx, repository.Source)
	if err != nil {
		return job, nil, err
	}
	branch, err := git.BranchFor(wf.Settings.Repository.BranchPrefix, "setup")
	if err != nil {
		return job, nil, err
	}
	set := wf.Settings
	root, err := workspace.Open(workspace.Config{Root: filepath.Join(folder, "workspaces"), Limits: set.Workspace.Limits}, s.ChildEnv(wf), log)
	if err != nil {
		return job, nil, err
	}
	closing = append(closing, func() { root.Close() })
	job = attempt.Job{
		Issue: tracker.Issue{ID: "setup", Identifier: "setup"}, Codex: set.Codex, Workspaces: root, Version: wiring.Version(), Log: log,
		Account: s.Account(wf), SessionDir: filepath.Join(folder, "codex"), Program: wiring.Program(), Denied: room.DenyCredentials(s.Getenv),
		Loopback: set.Loopback, UnixSockets: set.UnixSockets, Services: set.Services, Lookup: s.Getenv, Redact: s.redactor.String, Prompt: wf.Prompt,
		Warn: func(text string) { fmt.Fprintf(s.Stderr, "warning: %s\n", text) },
		Repository: &attempt.Repository{
			Host: repository.Host, Source: attempt.FromStore(store), Submodules: set.Repository.Submodules,
			Checkout: git.Checkout{Base: fetched.Base, BaseHead: fetched.Head, Branch: branch, Head: fetched.Head, User: repository.User, Paths: set.Repository.Paths},
			Setup:    &attempt.Setup{Config: set.Setup, Network: set.SetupNetwork, Preparations: repository.Preparations},
		},
	}
	if set.Repository.LFS {
		job.Repository.LFS = &attempt.LFS{}
	}
	return job, done, nil
}

// preparedProject is the result of a preparation as it is printed.
type preparedProject struct {
	Made    bool    `json:"made"`
	Path    string  `json:"path"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

// Text returns the result in sentences.
func (p preparedProject) Text(width int) string {
	result := "Nothing has changed since the project was prepared: see --again."
	if p.Made {
		result = fmt.Sprintf("The project is prepared, in %.1f s.", p.Seconds)
	}
	return report.Wrapped("", fmt.Sprintf("%s The files are in %s (%d bytes).", result, shownPath(p.Path), p.Bytes), width)
}
