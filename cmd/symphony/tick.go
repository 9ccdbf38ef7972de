package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/workspace"
)

// tick is the main command: one tick, or ticks for ever.
func (a *app) tick(ctx context.Context, args []string) error {
	if a.deadline < 0 || a.maxIssues < 0 {
		return fmt.Errorf("%w: --deadline and --max-issues cannot be negative", errUsage)
	}
	path, err := workflowPath(args)
	if err != nil {
		return err
	}
	return a.perform(ctx, path)
}

// perform runs the tick of a workflow and prints its report.
func (a *app) perform(ctx context.Context, path string) error {
	console := newConsole(a.stderr, a.logFormat == "text" && !a.dryRun)
	defer console.close()
	state, err := a.stateFile(path)
	if err != nil {
		return err
	}
	defer state.Close()
	r, err := a.runner(path, state, console)
	if err != nil {
		return err
	}
	stopServing, err := a.serve(r, console)
	if err != nil {
		return err
	}
	defer stopServing()

	run := r.Run
	if a.dryRun {
		run = r.Plan
	}
	tick, err := run(ctx)
	console.close()
	if isUsage := status(err) == exitUsage; isUsage || errors.Is(err, store.ErrLocked) {
		return err // nothing was done: there is nothing to report
	}
	if err != nil && !errors.Is(err, schedule.Interrupted) && !slices.Contains(tick.Errors, err.Error()) {
		tick.Errors = append(tick.Errors, err.Error())
	}
	a.reported = true
	return errors.Join(err, a.print(report.Of(tick)))
}

// runner builds the runner of a workflow.
func (a *app) runner(path string, state *stateFile, console *console) (*runner.Runner, error) {
	log, err := a.logger(console)
	if err != nil {
		return nil, err
	}
	if err := workspace.HideFromChildren(); err != nil {
		log.Warn("children can read this process", "error", err)
	}
	source := a.workflows(path)
	if _, err := source.Current(); err != nil {
		return nil, err // before anything is touched
	}
	self := a.self()
	home, _ := a.getenv("HOME")
	r := &runner.Runner{
		Workflows: source,
		Connect:   func(wf workflow.Workflow) (runner.World, error) { return a.connect(wf, log) },
		Store:     state,
		Work:      attempt.Run,
		Preflight: func(ctx context.Context, wf workflow.Workflow) error {
			_, err := a.preflight(ctx, wf)
			return err
		},
		Life:      life(self, !state.readOnly),
		Self:      self,
		Account:   a.account(),
		Private:   private(state.path),
		Home:      home,
		Version:   version(),
		Once:      a.once || a.inActions(),
		MaxIssues: a.maxIssues,
		Deadline:  a.deadline,
		Logs:      a.logs,
		Log:       log,
	}
	if console.live {
		r.Progress = console.show
	}
	return r, nil
}

func (a *app) stateFile(workflowPath string) (*stateFile, error) {
	path, err := a.statePath(workflowPath)
	return &stateFile{path: path, readOnly: a.dryRun}, err
}

// stateFile is the state of a run, in a file. It is opened, and locked, when it
// is first read: bad settings are found before anything is touched.
type stateFile struct {
	path     string
	readOnly bool // a dry run looks without the lock, and never writes
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
	return f.file.Save(ctx, s, rev)
}

func (f *stateFile) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// self is this run as the owner of its claims.
func (a *app) self() schedule.Owner {
	host, _ := os.Hostname()
	run, _ := a.getenv("GITHUB_RUN_ID")
	job, _ := a.getenv("GITHUB_JOB")
	return schedule.Owner{Run: run, Job: job, Host: cmp.Or(host, "unknown"), PID: os.Getpid(), Started: time.Now().UnixMilli()}
}

// life says what is known of another owner. Who holds the lock of the state is
// the only one alive on this machine.
func life(self schedule.Owner, locked bool) func(schedule.Owner) schedule.Life {
	return func(o schedule.Owner) schedule.Life {
		switch {
		case o.Host != self.Host:
			return schedule.Unknown
		case !locked && workspace.Alive(o.PID):
			return schedule.Alive
		}
		return schedule.Dead
	}
}
