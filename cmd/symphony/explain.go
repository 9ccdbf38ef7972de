package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// explainCommand prints the verdict on one issue. It changes nothing.
type explainCommand struct{ *app }

func (e *explainCommand) command() *cobra.Command {
	return &cobra.Command{
		Use:   "explain ID [path-to-WORKFLOW.md]",
		Short: "Say why an issue would or would not be worked on now",
		Args:  usage(cobra.RangeArgs(1, 2)),
		RunE:  func(cmd *cobra.Command, args []string) error { return e.Run(cmd.Context(), args[0], args[1:]) },
	}
}

// Run plans a tick of the workflow that args name, and prints the verdict on the
// issue of this id or identifier.
func (e *explainCommand) Run(ctx context.Context, name string, args []string) error {
	path, err := workflowPath(args)
	if err != nil {
		return err
	}
	source := e.workflows(path)
	wf, err := source.Current()
	if err != nil {
		return err
	}
	state, err := e.openState(wf, stateReadOnly)
	if err != nil {
		return err
	}
	r, err := e.runner(source, wf, state, e.console(false), true)
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
	var verdict schedule.Verdict
	if i := slices.IndexFunc(tick.Verdicts, named); i >= 0 {
		verdict = tick.Verdicts[i]
	} else if verdict, err = e.explainUnlisted(ctx, wf, name, r.Log); err != nil {
		return err
	}
	return e.print(report.Verdict(redacted(verdict, e.redactor), tick.Talks))
}

// explainUnlisted returns the verdict on an issue that is neither claimed nor a
// candidate.
func (e *explainCommand) explainUnlisted(ctx context.Context, wf workflow.Workflow, name string, log *slog.Logger) (schedule.Verdict, error) {
	adapter, err := e.openTracker(wf, log)
	if err != nil {
		return schedule.Verdict{}, err
	}
	id := tracker.ID(name)
	if adapter.IDOf != nil {
		id = adapter.IDOf(name)
	}
	issues, err := adapter.IssuesByID(ctx, []tracker.ID{id})
	if err != nil {
		return schedule.Verdict{}, err
	}
	if len(issues) == 0 {
		return schedule.Verdict{}, fmt.Errorf("%w: no issue %q is claimed, in an active state, or known by this id to the %s tracker",
			errUsage, name, wf.Settings.Tracker.Kind)
	}
	return schedule.Verdict{Issue: issues[0], Why: wf.Settings.Policy.IneligibleToStart(issues[0])}, nil
}
