package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/runlog"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// tickCommand is the main command: one tick, or ticks until it is stopped.
type tickCommand struct {
	*app
	once       bool
	dryRun     bool
	deadline   time.Duration // 0: none, or inside Actions that of the job
	maxIssues  int           // 0: what the workflow says
	port       *int          // nil: not given
	logs       string        // a folder
	reportFile string
	failOn     string
	order      order
	event      action.Event // what started the job; zero outside Actions
	part       part
}

// part describes which part of a tick a command performs. The zero value is the whole tick.
// The parts of a fleet's tick are in plan.go, work.go and collect.go.
type part struct {
	needsNoLogin bool                                                       // the part runs no session, so it needs no login of the agent
	readsOnly    bool                                                       // it creates no folder and changes no workspace
	open         func(workflow.Workflow) (*stateStore, error)               // opens the store; nil for the one that --state names
	bind         func(schedule.Policy) schedule.Policy                      // replaces limits of the policy by those of a fleet; nil for none
	prepare      func(*runner.Runner, workflow.Workflow) error              // sets what only this part sets in the runner; nil for nothing
	run          func(context.Context, *runner.Runner) (report.Tick, error) // performs the part; nil for Run or Plan of the runner
	live         bool                                                       // where there is no terminal display, the log shows what sessions do while they do it
	located      bool                                                       // the rows of the report already say where logs and kept work are
	report       func(report.Tick) error                                    // hands the report to another part; nil for no other part
	quiet        bool                                                       // it prints no report
	noSummary    func(report.Tick) bool                                     // reports whether another part writes the summary; nil for the rule of a whole tick
	outputs      func(report.Tick, workflow.Workflow) [][2]string           // returns more outputs, which replace those of the same name; nil for none
}

// The values of --fail-on.
const (
	failNever  = "never"
	failFailed = "failed" // or parked
	failParked = "parked"
)

func (t *tickCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "symphony [flags] [path-to-WORKFLOW.md]",
		Short: "Let an issue tracker drive coding agents",
		Long: `Symphony reads issues from a tracker, gives each a workspace, and drives a Codex
session in it until the issue is handed over. Without --once it runs until stopped,
with a tick every polling.interval_ms; inside GitHub Actions it always does one.`,
		Example: `symphony init # write a WORKFLOW.md and the workflow of GitHub Actions
symphony --once --dry-run # what would happen, and why not more
symphony --once # one tick
symphony # a tick every polling.interval_ms, until it is stopped
symphony --once --command retry --issue GH-7 # first retry GH-7`,
		RunE: func(cmd *cobra.Command, args []string) error { return t.Run(cmd.Context(), args) },
	}
	takeWorkflow(cmd)
	atMostOne := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && !mayBeFile(args[0]) {
			return unknownCommand(cmd, args[0])
		}
		return atMostOne(cmd, args)
	}
	flags := cmd.Flags()
	flags.BoolVar(&t.once, "once", false, "one tick, then exit")
	flags.BoolVar(&t.dryRun, "dry-run", false, "plan and print, change nothing")
	flags.DurationVar(&t.deadline, "deadline", 0, "stop gracefully before this much time has passed")
	flags.IntVar(&t.maxIssues, "max-issues", 0, "start at most this many issues in a tick (0: the limit of the workflow)")
	port := flags.Int("port", 0, "serve status on 127.0.0.1:`N` (long-running mode; 0: any free port)")
	t.addLogsFlag(flags)
	t.addReportFlag(flags)
	t.addFailOnFlag(flags)
	t.order.addFlags(flags)
	cmd.PreRun = func(*cobra.Command, []string) {
		if flags.Changed("port") {
			t.port = port
		}
	}
	return cmd
}

// addLogsFlag adds the flag --logs.
func (t *tickCommand) addLogsFlag(flags *pflag.FlagSet) {
	flags.StringVar(&t.logs, "logs", "", "keep whole event logs in this `folder`, and never remove one (default .symphony/sessions, the latest)")
}

// addReportFlag adds the flag --report.
func (t *tickCommand) addReportFlag(flags *pflag.FlagSet) {
	flags.StringVar(&t.reportFile, "report", "", "write the report, as JSON, to this `file` too")
}

// addFailOnFlag adds the flag --fail-on.
func (t *tickCommand) addFailOnFlag(flags *pflag.FlagSet) {
	flags.StringVar(&t.failOn, "fail-on", failNever, "`when` to exit 1 after a completed tick: never, failed (or parked), parked")
}

// mayBeFile reports whether an argument is, or looks like, the path of a file and not a
// misspelled command.
func mayBeFile(arg string) bool {
	_, err := os.Lstat(arg)
	return err == nil || strings.ContainsAny(arg, "/.")
}

// Run checks the flags and performs the tick of the workflow that args name.
func (t *tickCommand) Run(ctx context.Context, args []string) error {
	if err := t.checkPort(); err != nil {
		return err
	}
	if t.deadline < 0 || t.maxIssues < 0 {
		return fmt.Errorf("%w: %s and %s cannot be negative", errUsage, t.option("deadline"), t.option("max-issues"))
	}
	if !slices.Contains([]string{failNever, failFailed, failParked}, t.failOn) {
		return fmt.Errorf("%w: %s is %q: want never, failed or parked", errUsage, t.option("fail-on"), t.failOn)
	}
	if err := t.checkOrder(); err != nil {
		return err
	}
	path, err := workflowPath(args)
	if err == nil && t.reportFile != "" {
		t.reportFile, err = filepath.Abs(t.reportFile)
	}
	if err == nil && t.logs != "" {
		t.logs, err = filepath.Abs(t.logs)
	}
	if err != nil {
		return err
	}
	return t.perform(ctx, path)
}

// perform runs the tick of a workflow and prints its report.
func (t *tickCommand) perform(ctx context.Context, path string) error {
	source := t.workflows(path)
	wf, err := source.Current()
	if err != nil {
		return err // before anything is touched
	}
	if err := t.checkPreconditions(wf); err != nil {
		return err
	}
	t.surviveBrokenPipes()
	console := t.console(t.logFormat == "text" && !t.dryRun, wf.Path)
	defer console.close()
	state, err := t.openStore(wf)
	if err != nil {
		return err
	}
	defer state.Close()
	r, err := t.runner(source, wf, state, console, t.dryRun || t.part.readsOnly)
	if err != nil {
		return err
	}
	if cause := t.event.Cause(); cause != "" {
		r.Log.Info("started by an event", "event", cause)
	}
	r.Once = t.once || t.actions.InActions()
	r.MaxIssues, r.Deadline, r.Logs = t.maxIssues, t.deadline, t.logs
	r.Pages = t.actions.InActions()
	r.OrderOnly = t.order.stops()
	if t.order != (order{}) {
		r.Order = func(s *schedule.State) (tracker.ID, schedule.Order, error) { return t.orderIn(s, wf) }
	}
	if console.isLive() {
		r.Progress = func(p progress.Progress) { console.show(t.placed(p, wf)) }
	}
	stopServing, err := t.serve(r, wf, console)
	if err != nil {
		return err
	}
	defer stopServing()

	if t.part.prepare != nil {
		if err := t.part.prepare(r, wf); err != nil {
			return err
		}
	}
	endSessions := t.showSessions(r, console, wf.Path)
	tick, err := t.run(ctx, r)
	endSessions()
	if err == nil && tick.Work() && t.runFollows() {
		err = state.CheckWrite(ctx)
	}
	console.close()
	if failed := console.failure(); failed != nil {
		t.warnings = append(t.warnings, fmt.Sprintf("the log cannot be written, and some of its lines are lost: %v", failed))
	}
	if stuck := console.file.StuckAt(); stuck != nil {
		t.warnings = append(t.warnings, fmt.Sprintf("%s: %v", runlog.Unbounded, stuck))
	}
	return t.finish(tick, wf, err)
}

// placed returns a progress that says how people reach this program and its state.
func (t *tickCommand) placed(p progress.Progress, wf workflow.Workflow) progress.Progress {
	p.Program, p.State = t.ownCommand(), t.stateFor(wf.Path)
	return p
}

// openStore opens the store of the part.
func (t *tickCommand) openStore(wf workflow.Workflow) (*stateStore, error) {
	switch {
	case t.part.open != nil:
		return t.part.open(wf)
	case t.dryRun:
		return t.openState(wf, stateReadOnly)
	}
	return t.openState(wf, stateOfRun)
}

// run performs the command's part of a tick.
func (t *tickCommand) run(ctx context.Context, r *runner.Runner) (report.Tick, error) {
	switch {
	case t.part.run != nil:
		return t.part.run(ctx, r)
	case t.dryRun:
		return r.Plan(ctx)
	}
	return r.Run(ctx)
}

// surviveBrokenPipes keeps the process alive when the reader of its output is gone:
// sessions continue, and a write fails like any other (SPEC §13.2). A handler is not
// inherited by child processes, as an ignored signal would be. It stays until the program
// ends, which has an exit status of its own also when its last words find no reader.
func (t *tickCommand) surviveBrokenPipes() {
	broken := make(chan os.Signal, 1) // never read: the write fails as well
	signal.Notify(broken, syscall.SIGPIPE)
	t.endSurvival = func() { signal.Stop(broken) }
}

// finish prints and publishes the report of a tick. It returns the error that the command
// fails with, or nil.
func (t *tickCommand) finish(tick report.Tick, wf workflow.Workflow, err error) error {
	if errors.Is(err, store.ErrRefused) && tick.Acted == 0 {
		err = fmt.Errorf("%w: %w", errUsage, err) // --state is wrong
	}
	if isUsage := exitStatus(err) == exitUsage; isUsage || errors.Is(err, store.ErrLocked) && tick.Acted == 0 {
		return err // nothing was done: there is nothing to report
	}
	if err != nil && !errors.Is(err, schedule.ErrInterrupted) && !slices.Contains(tick.Errors, err.Error()) {
		tick.Errors = append(tick.Errors, err.Error())
	}
	tick.Warnings = append(tick.Warnings, t.warnings...)
	tick.StartedBy = t.event.Cause()
	tick.Scheduled, tick.State, tick.Program = t.actions.InActions(), t.stateFor(wf.Path), t.ownCommand()
	t.answerOrder(&tick, wf)
	t.locateJobs(&tick, wf)
	if !t.part.located {
		t.locateKept(&tick)
		t.locateLogs(&tick)
	}
	if t.openedAsJob(tick, wf) {
		tick.Notices = append(tick.Notices, checksWait)
	}
	tick = redacted(tick, t.redactor)
	all := report.Of(tick)
	var failures error
	if t.part.report != nil {
		failures = t.part.report(tick)
	}
	if !t.part.quiet {
		failures = errors.Join(failures, t.printReport(all))
	}
	failures = errors.Join(failures, t.writeReport(all), t.publish(tick, wf, err != nil))
	if err == nil && failures == nil {
		failures = t.failOnError(tick)
	}
	if err != nil && !t.actions.InActions() { // inside Actions the report has annotated it
		t.printError(err)
	}
	if failures != nil {
		t.printError(failures)
	}
	t.reported = true
	return errors.Join(err, failures)
}

// printReport prints the report of a tick. It goes to standard error if the reader of standard
// output is gone: Ctrl-C also ends the tee of a pipeline.
func (t *tickCommand) printReport(all report.Report) error {
	out, isOutput := t.stdout.(*output)
	before := isOutput && out.err == nil
	if err := t.print(all); err != nil || !before || !errors.Is(out.err, syscall.EPIPE) {
		return err
	}
	elsewhere := &output{w: t.stderr}
	t.stdout = elsewhere
	err := t.print(all)
	t.stdout, out.kept = out, elsewhere.err == nil
	return err
}

// failOnError returns the error of a completed tick that --fail-on makes a failure, or
// nil.
func (t *tickCommand) failOnError(tick report.Tick) error {
	failed, parked := tick.Counts().Failed, tick.ParkedCount()
	switch {
	case parked > 0 && t.failOn != failNever:
		return fmt.Errorf("%w: %d parked in this tick; see what they ask in the report", errFailOn, parked)
	case failed > 0 && t.failOn == failFailed:
		return fmt.Errorf("%w: %d failed in this tick; see why in the report", errFailOn, failed)
	}
	return nil
}
