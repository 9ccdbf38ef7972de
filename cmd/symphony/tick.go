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

	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/runner/workflow"
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
	path, err := t.check(args)
	if err != nil {
		return err
	}
	return t.perform(ctx, path)
}

// check returns the path of the workflow that args name, or an error for flags that are not
// valid. It makes paths absolute.
func (t *tickCommand) check(args []string) (path string, err error) {
	if err := t.checkPort(); err != nil {
		return "", err
	}
	if t.deadline < 0 || t.maxIssues < 0 {
		return "", fmt.Errorf("%w: %s and %s cannot be negative", errUsage, t.option("deadline"), t.option("max-issues"))
	}
	if !slices.Contains([]string{failNever, failFailed, failParked}, t.failOn) {
		return "", fmt.Errorf("%w: %s is %q: want never, failed or parked", errUsage, t.option("fail-on"), t.failOn)
	}
	if err := t.checkOrder(); err != nil {
		return "", err
	}
	path, err = workflowPath(args)
	if err == nil && t.reportFile != "" {
		t.reportFile, err = filepath.Abs(t.reportFile)
	}
	if err == nil && t.logs != "" {
		t.logs, err = filepath.Abs(t.logs)
	}
	return path, err
}

// perform performs a whole tick of a workflow, or ticks until the command is stopped.
func (t *tickCommand) perform(ctx context.Context, path string) error {
	run, err := t.open(path, opening{})
	if err != nil {
		return err
	}
	defer run.close()
	tick, err := run.perform(ctx, func(ctx context.Context) (report.Tick, error) {
		if !t.dryRun {
			return run.Run(ctx)
		}
		tick, err := run.Plan(ctx)
		if err == nil && tick.Work() && t.runFollows() {
			err = run.state.CheckWrite(ctx)
		}
		return tick, err
	})
	return t.finish(tick, run.wf, err)
}

// finish prints and publishes the report of a whole tick. It returns the error that the command
// fails with, or nil.
func (t *tickCommand) finish(tick report.Tick, wf workflow.Workflow, err error) error {
	if t.nothingDone(tick, &err) {
		return err
	}
	tick = t.complete(tick, wf, err, false)
	follows := tick.Work() && t.runFollows()
	return t.conclude(tick, err, errors.Join(
		t.printReport(tick), t.writeReport(tick), t.publish(tick, err != nil || !follows, t.outputs(tick, wf))))
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

// nothingDone reports whether a tick ended before it did anything, so that there is nothing to
// report. A state that its place refuses is an error of usage then.
func (t *tickCommand) nothingDone(tick report.Tick, err *error) bool {
	if errors.Is(*err, store.ErrRefused) && tick.Acted == 0 {
		*err = fmt.Errorf("%w: %w", errUsage, *err) // --state is wrong
	}
	return exitStatus(*err) == exitUsage || errors.Is(*err, store.ErrLocked) && tick.Acted == 0
}

// complete returns the tick with all that a report says besides what the runner knows, and
// without secrets. located tells that its rows say already where logs and kept work are.
func (t *tickCommand) complete(tick report.Tick, wf workflow.Workflow, err error, located bool) report.Tick {
	if err != nil && !errors.Is(err, schedule.ErrInterrupted) && !slices.Contains(tick.Errors, err.Error()) {
		tick.Errors = append(tick.Errors, err.Error())
	}
	tick.Warnings = append(tick.Warnings, t.warnings...)
	tick.StartedBy = t.event.Cause()
	tick.Scheduled, tick.State, tick.Program = t.actions.InActions(), t.statePlace().flagFor(wf.Path), t.ownCommand()
	t.answerOrder(&tick, wf)
	t.locateJobs(&tick, wf)
	if !located {
		t.locateKept(&tick)
		t.locateLogs(&tick)
	}
	if t.openedAsJob(tick, wf) {
		tick.Notices = append(tick.Notices, checksWait)
	}
	return redacted(tick, t.redactor)
}

// conclude returns the error that the command fails with, or nil, and prints it. err is that of
// the tick, and failures are those of its report.
func (t *tickCommand) conclude(tick report.Tick, err, failures error) error {
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
func (t *tickCommand) printReport(tick report.Tick) error {
	all := report.Of(tick)
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
