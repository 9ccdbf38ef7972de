package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

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
	if err := a.checkPort(); err != nil {
		return err
	}
	if a.deadline < 0 || a.maxIssues < 0 {
		return fmt.Errorf("%w: %s and %s cannot be negative", errUsage, a.option("deadline"), a.option("max-issues"))
	}
	if !slices.Contains([]string{failNever, failFailed, failParked}, a.failAt) {
		return fmt.Errorf("%w: %s is %q: want never, failed or parked", errUsage, a.option("fail-on"), a.failAt)
	}
	path, err := workflowPath(args)
	if err == nil && a.report != "" {
		a.report, err = filepath.Abs(a.report)
	}
	if err == nil && a.logs != "" {
		a.logs, err = filepath.Abs(a.logs)
	}
	if err != nil {
		return err
	}
	return a.perform(ctx, path)
}

// perform runs the tick of a workflow and prints its report.
func (a *app) perform(ctx context.Context, path string) error {
	wf, err := a.workflows(path).Current()
	if err != nil {
		return err // before anything is touched
	}
	if err := a.admit(wf); err != nil {
		return err
	}
	defer surviveBrokenPipes()()
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
	if err == nil && tick.Work() && a.runFollows() {
		err = a.checkWrite(ctx, state)
	}
	console.close()
	if failed := console.failure(); failed != nil {
		a.warnings = append(a.warnings, fmt.Sprintf("the log cannot be written, and some of its lines are lost: %v", failed))
	}
	return a.conclude(tick, wf, err)
}

// surviveBrokenPipes keeps the process alive when whoever reads its output is gone:
// sessions go on, and a write fails like any other (SPEC §13.2). A handler is not
// inherited by child processes, as an ignored signal would be. The returned function
// ends it.
func surviveBrokenPipes() (restore func()) {
	broken := make(chan os.Signal, 1) // nobody waits: the write that fails says it all
	signal.Notify(broken, syscall.SIGPIPE)
	return func() { signal.Stop(broken) }
}

// conclude shows what came of a tick, and says whether that is a failure.
func (a *app) conclude(tick report.Tick, wf workflow.Workflow, err error) error {
	if errors.Is(err, store.ErrRefused) && tick.Acted == 0 {
		err = fmt.Errorf("%w: %w", errUsage, err) // where the state is to be is wrong
	}
	if isUsage := status(err) == exitUsage; isUsage || errors.Is(err, store.ErrLocked) && tick.Acted == 0 {
		return err // nothing was done: there is nothing to report
	}
	if err != nil && !errors.Is(err, schedule.Interrupted) && !slices.Contains(tick.Errors, err.Error()) {
		tick.Errors = append(tick.Errors, err.Error())
	}
	tick.Warnings = append(tick.Warnings, a.warnings...)
	tick = cleanTick(tick, a.redactor)
	all := report.Of(tick)
	failures := errors.Join(a.print(all), a.keepReport(all), a.publish(tick, wf, err != nil))
	if err == nil && failures == nil {
		failures = a.failOn(tick)
	}
	if err != nil && !a.actions.Inside() { // inside Actions the report has annotated it
		a.complain(err)
	}
	if failures != nil {
		a.complain(failures)
	}
	a.reported = true
	return errors.Join(err, failures)
}

// runner builds the runner of a workflow.
func (a *app) runner(path string, state place, console *console) (*runner.Runner, error) {
	log, err := a.logger(console)
	if err != nil {
		return nil, err
	}
	if err := workspace.HideFromChildren(); err != nil {
		log.Warn("children can read this process", "error", err)
		a.warnings = append(a.warnings, fmt.Sprintf("children can read this process and its secrets: %v", err))
	}
	source := a.workflows(path)
	if _, err := source.Current(); err != nil {
		return nil, err // before anything is touched
	}
	self := a.self()
	r := &runner.Runner{
		Workflows:   source,
		Connect:     func(wf workflow.Workflow) (runner.Connection, error) { return a.connect(wf, log) },
		Store:       state,
		RunSession:  attempt.Run,
		OwnerStatus: a.life(path, self, state),
		Self:        self,
		Account:     a.account(),
		Login:       a.login,
		SessionDir:  private(path),
		Denied:      a.denied(path),
		Redact:      a.redactor.String,
		Version:     version(),
		Once:        a.once || a.actions.Inside(),
		MaxIssues:   a.maxIssues,
		Deadline:    a.deadline,
		Logs:        a.logs,
		Log:         log,
	}
	if console.live {
		r.Progress = console.show
	}
	if a.actions.Inside() {
		r.OnSessionEnd = a.tell
	}
	return r, nil
}
