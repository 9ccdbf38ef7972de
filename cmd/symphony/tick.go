package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/workspace"
)

// lifeTime bounds the question whether another run is alive.
const lifeTime = 30 * time.Second

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
	state, err := a.place(path)
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
func (a *app) runner(path string, state place, console *console) (*runner.Runner, error) {
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
		Life:      a.life(path, self, state),
		Self:      self,
		Account:   a.account(),
		Private:   filepath.Join(folder(path), "codex"),
		Home:      home,
		Redact:    a.redactor.String,
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

// self is this run as the owner of its claims.
func (a *app) self() schedule.Owner {
	host, _ := os.Hostname()
	run, _ := a.getenv("GITHUB_RUN_ID")
	job, _ := a.getenv("GITHUB_JOB")
	number, _ := a.getenv("GITHUB_RUN_ATTEMPT")
	attempt, _ := strconv.Atoi(number) // 0 outside Actions
	return schedule.Owner{
		Run: run, Attempt: attempt, Job: job, Host: cmp.Or(host, "unknown"), PID: os.Getpid(), Started: time.Now().UnixMilli(),
	}
}

// life says what is known of another owner. A workflow run is asked for through
// GitHub. On this machine, who holds the lock of a state file is the only one
// alive; without the lock a process is looked for.
func (a *app) life(path string, self schedule.Owner, state place) func(schedule.Owner) schedule.Life {
	file, isFile := state.(*stateFile)
	locked := isFile && !file.readOnly
	var runs *store.Runs
	if repo, api, token, err := a.repository(path); err == nil {
		runs, _ = store.NewRuns(repo, api, token, http.DefaultClient) // nil: the lease decides
	}
	return func(o schedule.Owner) schedule.Life {
		switch {
		case o.Run != "" && runs != nil:
			ctx, cancel := context.WithTimeout(context.Background(), lifeTime)
			defer cancel()
			return runs.Life(ctx, o)
		case o.Host != self.Host || o.Run != "":
			return schedule.Unknown
		case !locked && workspace.Alive(o.PID):
			return schedule.Alive
		}
		return schedule.Dead
	}
}
