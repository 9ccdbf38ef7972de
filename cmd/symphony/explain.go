package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain ID [path-to-WORKFLOW.md]",
		Short: "Say why an issue would or would not be worked on now",
		Args:  usage(cobra.RangeArgs(1, 2)),
		RunE:  func(cmd *cobra.Command, args []string) error { return a.explain(cmd.Context(), args[0], args[1:]) },
	}
}

// explain prints the verdict on one issue. It changes nothing.
func (a *app) explain(ctx context.Context, name string, args []string) error {
	path, err := workflowPath(args)
	if err != nil {
		return err
	}
	a.dryRun = true
	console := newConsole(a.stderr, false)
	state, err := a.place(path)
	if err != nil {
		return err
	}
	r, err := a.runner(path, state, console)
	if err != nil {
		return err
	}
	tick, err := r.Plan(ctx)
	if err != nil {
		return err
	}
	named := func(v schedule.Verdict) bool {
		return string(v.Issue.ID) == name || strings.EqualFold(v.Issue.Identifier, name)
	}
	if i := slices.IndexFunc(tick.Verdicts, named); i >= 0 {
		return a.print(report.Verdict(cleanVerdict(tick.Verdicts[i], a.redactor)))
	}
	verdict, err := a.outside(ctx, r, name)
	if err != nil {
		return err
	}
	return a.print(report.Verdict(cleanVerdict(verdict, a.redactor)))
}

// outside judges an issue that is neither claimed nor a candidate.
func (a *app) outside(ctx context.Context, r *runner.Runner, name string) (schedule.Verdict, error) {
	wf, err := r.Workflows.Current()
	if err != nil {
		return schedule.Verdict{}, err
	}
	world, err := r.Connect(wf)
	if err != nil {
		return schedule.Verdict{}, err
	}
	id := tracker.ID(name)
	if world.Tracker.IDOf != nil {
		id = world.Tracker.IDOf(name)
	}
	issues, err := world.Tracker.IssuesByID(ctx, []tracker.ID{id})
	if err != nil {
		return schedule.Verdict{}, err
	}
	if len(issues) == 0 {
		return schedule.Verdict{}, fmt.Errorf("%w: no issue %q is claimed, in an active state, or known by this id to the %s tracker",
			errUsage, name, wf.Settings.Tracker.Kind)
	}
	return schedule.Verdict{Issue: issues[0], Why: wf.Settings.Policy.IneligibleToStart(issues[0])}, nil
}
