package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/redact"
)

// process is everything the program gets from the operating system.
type process struct {
	args    []string
	environ []string
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
}

// getenv is the value of an environment variable; the last one counts.
func (p process) getenv(name string) (value string, set bool) {
	for _, entry := range p.environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value, set = v, true
		}
	}
	return value, set
}

// flags are the flags of the command line.
type flags struct {
	once      bool
	dryRun    bool
	state     string
	deadline  time.Duration
	maxIssues int
	port      *int // nil: not given
	logs      string
	logFormat string
	report    string // a file
	failAt    string
}

// run runs the command line and returns the exit status. Every status but 0 has
// its cause on standard error, or inside Actions in an annotation.
func run(ctx context.Context, p process) int {
	out := &output{w: p.stdout}
	a := &app{process: p}
	a.stdout = out
	a.settleIn()
	a.redactor = a.secrets()
	root := a.command()
	root.SetArgs(a.args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.reported {
		a.complain(err)
	}
	_ = a.actions.Close() // fails only when out has failed
	if out.err != nil {
		unprinted := fmt.Errorf("write to standard output: %w; what was to be shown is lost: let it go to a terminal or a file with room", out.err)
		fmt.Fprintf(p.stderr, "symphony: %s\n", a.redactor.String(unprinted.Error()))
		err = errors.Join(err, unprinted)
	}
	return status(err)
}

// app is one invocation of the program.
type app struct {
	process
	flags
	actions  *action.Runtime
	event    action.Event // what started the job, once it was admitted
	redactor *redact.Redactor
	warnings []string // for the report
	reported bool     // the error has been shown where complain would show it
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "symphony [flags] [path-to-WORKFLOW.md]",
		Short: "Let an issue tracker drive coding agents",
		Long: `Symphony reads issues from a tracker, gives each a workspace, and drives a Codex
session in it until the issue is handed over. Without --once it goes on for ever,
with a tick every polling.interval_ms; inside GitHub Actions it always does one.`,
		Args:          usage(cobra.MaximumNArgs(1)),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.tick(cmd.Context(), args)
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return a.flagError(err)
	})
	root.CompletionOptions.HiddenDefaultCmd = true

	own := root.Flags()
	own.BoolVar(&a.once, "once", false, "one tick, then exit")
	own.BoolVar(&a.dryRun, "dry-run", false, "plan and print, change nothing")
	own.DurationVar(&a.deadline, "deadline", 0, "stop in good order before this much time is gone")
	own.IntVar(&a.maxIssues, "max-issues", 0, "at most this many issues started in a tick (0: what the workflow says)")
	port := own.Int("port", 0, "serve status on 127.0.0.1:`N` (long-running mode; 0: any free port)")
	own.StringVar(&a.logs, "logs", "", "keep one event log per session in this `folder`")
	own.StringVar(&a.report, "report", "", "write the report, as JSON, to this `file` too")
	own.StringVar(&a.failAt, "fail-on", failNever, "`when` to exit 1 though the tick completed: never, failed (or parked), parked")
	root.PreRun = func(*cobra.Command, []string) {
		if own.Changed("port") {
			a.port = port
		}
	}
	shared := root.PersistentFlags()
	shared.StringVar(&a.state, "state", "", "`where` claims are kept: file:PATH, branch:NAME or cache:PATH (default file:.symphony/state.json beside WORKFLOW.md)")
	shared.StringVar(&a.logFormat, "log-format", "text", "of logs and the report: text or json")

	root.AddCommand(a.demoCommand(), a.agentCommand(), a.validateCommand(), a.explainCommand(), a.stateCommand())
	return root
}

// usage marks the errors of an argument check as errors of usage.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return fmt.Errorf("%w: %w; see %s --help", errUsage, err, cmd.CommandPath())
		}
		return nil
	}
}
