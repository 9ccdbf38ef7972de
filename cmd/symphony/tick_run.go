package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/runlog"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// A tick, and each of the three parts of a fleet's tick, goes the same way:
//
//	open         read the workflow, check all that can be checked, open the store and the runner
//	perform      call the runner, with a display or a log of its sessions
//	nothingDone  end here if there is nothing to report
//	complete     say all that belongs into the report
//	print, write, publish, conclude
//
// perform in tick.go, and Run in plan.go, work.go and collect.go, are these steps.

// opening says what a command needs to perform its part of a tick. The zero value is for a whole
// tick.
type opening struct {
	noLogin   bool                                  // no session runs, so no login of the agent is needed
	readsOnly bool                                  // no folder is made and no workspace changed
	store     func() *stateStore                    // opens the store; nil for the one that --state names
	bind      func(schedule.Policy) schedule.Policy // replaces limits of the policy by those of a fleet; nil for none
	live      bool                                  // without a terminal display, the log shows what sessions do while they do it
}

// tickRun is a tick that is about to be performed.
type tickRun struct {
	*runner.Runner
	t       *tickCommand
	wf      workflow.Workflow
	state   *stateStore
	console *console
	live    bool

	closers []func()
}

// open reads a workflow and opens all that its tick needs. Nothing is touched before everything
// is checked that can be.
func (t *tickCommand) open(path string, o opening) (*tickRun, error) {
	source := t.workflows(path)
	wf, err := source.Current()
	if err != nil {
		return nil, err
	}
	if err := t.checkPreconditions(wf, o); err != nil {
		return nil, err
	}
	t.surviveBrokenPipes()
	run := &tickRun{t: t, wf: wf, live: o.live, console: t.console(t.logFormat == "text" && !t.dryRun, wf.Path)}
	run.closers = append(run.closers, run.console.close)
	if err := run.openRunner(source, o); err != nil {
		run.close()
		return nil, err
	}
	return run, nil
}

// openRunner opens the store and the runner, and the status page if one is asked for.
func (x *tickRun) openRunner(source *workflow.Source, o opening) (err error) {
	t := x.t
	switch {
	case o.store != nil:
		x.state = o.store()
	case t.dryRun:
		x.state, err = t.statePlace().open(x.wf, stateReadOnly)
	default:
		x.state, err = t.statePlace().open(x.wf, stateOfRun)
	}
	if err != nil {
		return err
	}
	x.closers = append(x.closers, func() { _ = x.state.Close() })
	if x.Runner, err = t.runner(source, x.wf, x.state, x.console, t.dryRun || o.readsOnly); err != nil {
		return err
	}
	if cause := t.event.Cause(); cause != "" {
		x.Log.Info("started by an event", "event", cause)
	}
	x.Once = t.once || t.actions.InActions()
	x.MaxIssues, x.Deadline, x.Logs = t.maxIssues, t.deadline, t.logs
	x.Pages = t.actions.InActions()
	x.OrderOnly = t.order.stops()
	if t.order != (order{}) {
		x.Order = func(s *schedule.State) (tracker.ID, schedule.Order, error) { return t.orderIn(s, x.wf) }
	}
	if x.console.isLive() {
		x.Progress = func(p progress.Progress) { x.console.show(t.placed(p, x.wf)) }
	}
	stopServing, err := t.serve(x.Runner, x.wf, x.console)
	if err == nil {
		x.closers = append(x.closers, stopServing)
	}
	return err
}

// close closes what open has opened, the last first.
func (x *tickRun) close() {
	for _, c := range slices.Backward(x.closers) {
		c()
	}
}

// perform calls work while the log or the display shows what its sessions do. It adds to the
// warnings what could not be shown.
func (x *tickRun) perform(ctx context.Context, work func(context.Context) (report.Tick, error)) (report.Tick, error) {
	endSessions := x.t.showSessions(x.Runner, x.console, x.wf.Path, x.live)
	tick, err := work(ctx)
	endSessions()
	x.console.close()
	if failed := x.console.failure(); failed != nil {
		x.t.warn(fmt.Sprintf("the log cannot be written, and some of its lines are lost: %v", failed))
	}
	if stuck := x.console.file.StuckAt(); stuck != nil {
		x.t.warn(fmt.Sprintf("%s: %v", runlog.Unbounded, stuck))
	}
	return tick, err
}

// placed returns a progress that says how people reach this program and its state.
func (t *tickCommand) placed(p progress.Progress, wf workflow.Workflow) progress.Progress {
	p.Program, p.State = t.ownCommand(), t.statePlace().flagFor(wf.Path)
	return p
}
