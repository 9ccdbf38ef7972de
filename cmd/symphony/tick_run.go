package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
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
//	openTick     read the workflow, check all that can be checked, open the store and the runner
//	perform      call the runner, with a display or a log of its sessions
//	nothingDone  end here if there is nothing to report
//	complete     say all that belongs into the report
//	print, write, publish, conclude
//
// perform in tick.go, and Run in plan.go, work.go and collect.go, are these steps.

// opening describes the needs of a command that performs a part of a tick. The zero value is
// for a whole tick.
type opening struct {
	noLogin   bool                                  // no session runs, so no login of the agent is needed
	readsOnly bool                                  // no folder is made and no workspace changed
	store     func() *wiring.StateStore             // opens the store; nil for the one that --state names
	bind      func(schedule.Policy) schedule.Policy // replaces limits of the policy by a fleet's; nil for none
	live      bool                                  // the log shows the work of sessions while it is done, as no terminal display does
}

// tickRun is a tick, or a part of one, that is about to be performed.
type tickRun struct {
	*runner.Runner
	tickReport
	opening
	kept    *wiring.StateStore
	console *console

	closers []func()
}

// openTick reads a workflow and opens all that its tick needs. Nothing is touched before
// everything is checked that can be.
func openTick(a *app, path string, options tickOptions, o opening) (*tickRun, error) {
	source := a.workflows(path)
	wf, err := source.Current()
	if err != nil {
		return nil, err
	}
	x := &tickRun{tickReport: tickReport{app: a, tickOptions: options, wf: wf}, opening: o}
	if err := x.checkPreconditions(); err != nil {
		return nil, err
	}
	a.surviveBrokenPipes()
	x.console = a.console(a.logFormat == "text" && !x.dryRun, wf.Path)
	x.closers = append(x.closers, x.console.close)
	if err := x.openRunner(source); err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

// openRunner opens the store and the runner, and the status page if one is asked for.
func (x *tickRun) openRunner(source *workflow.Source) (err error) {
	switch {
	case x.store != nil:
		x.kept = x.store()
	case x.dryRun:
		x.kept, err = x.statePlace().Open(x.wf, wiring.StateReadOnly)
	default:
		x.kept, err = x.statePlace().Open(x.wf, wiring.StateOfRun)
	}
	if err != nil {
		return err
	}
	x.closers = append(x.closers, func() { _ = x.kept.Close() })
	if x.Runner, err = x.runner(source, x.wf, x.kept, x.console, x.dryRun || x.readsOnly); err != nil {
		return err
	}
	if cause := x.event.Cause(); cause != "" {
		x.Log.Info("started by an event", "event", cause)
	}
	x.Once = x.once || x.Actions.InActions()
	x.MaxIssues, x.Deadline, x.Logs = x.maxIssues, x.deadline, x.logs
	x.Pages = x.Actions.InActions()
	x.OrderOnly = x.order.stops()
	if x.order != (order{}) {
		x.Order = func(s *schedule.State) (tracker.ID, schedule.Order, error) { return x.order.in(s, x.wf, x.event.Actor) }
	}
	if x.console.isLive() {
		x.Progress = func(p progress.Progress) { x.console.display.Show(x.placed(p)) }
	}
	stopServing, err := x.serve()
	if err == nil {
		x.closers = append(x.closers, stopServing)
	}
	return err
}

// close closes everything that open has opened, the last first.
func (x *tickRun) close() {
	for _, c := range slices.Backward(x.closers) {
		c()
	}
}

// perform calls work while the log or the display shows the work of its sessions. It adds to
// the warnings the messages that could not be shown.
func (x *tickRun) perform(ctx context.Context, work func(context.Context) (report.Tick, error)) (report.Tick, error) {
	endSessions := showSessions(x.app, x.places(), x.Runner, x.console, x.live)
	endRecord := x.record()
	tick, err := work(ctx)
	endRecord(tick)
	endSessions()
	x.console.close()
	if failed := x.console.failure(); failed != nil {
		x.warn(fmt.Sprintf("the log cannot be written, and some of its lines are lost: %v", failed))
	}
	if stuck := x.console.file.StuckAt(); stuck != nil {
		x.warn(fmt.Sprintf("%s: %v", runlog.Unbounded, stuck))
	}
	return tick, err
}
