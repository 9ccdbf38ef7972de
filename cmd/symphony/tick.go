package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/runner/report"
)

// tickCommand is the main command: one tick, or ticks until it is stopped.
type tickCommand struct {
	*app
	tickOptions
}

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
	t.addReportFlags(flags)
	t.addFailOnFlag(flags)
	t.order.addFlags(flags)
	cmd.PreRun = func(*cobra.Command, []string) {
		if flags.Changed("port") {
			t.port = port
		}
	}
	return cmd
}

// Run checks the flags and performs the tick of the workflow that args name.
func (t *tickCommand) Run(ctx context.Context, args []string) error {
	path, err := t.check(t.Process, args)
	if err != nil {
		return err
	}
	return t.perform(ctx, path)
}

// perform performs a whole tick of a workflow, or ticks until the command is stopped.
func (t *tickCommand) perform(ctx context.Context, path string) error {
	run, err := openTick(t.app, path, t.tickOptions, opening{})
	if err != nil {
		return err
	}
	defer run.close()
	tick, err := run.perform(ctx, func(ctx context.Context) (report.Tick, error) {
		if !t.dryRun {
			return run.Run(ctx)
		}
		tick, err := run.Plan(ctx)
		if err == nil && tick.Work() && run.runFollows() {
			err = run.kept.CheckWrite(ctx)
		}
		return tick, err
	})
	return run.finish(tick, err)
}
