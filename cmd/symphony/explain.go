package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/lookup"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/room"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// explainCommand prints the verdict on one issue, or the environment of the agent's commands.
// It changes nothing.
type explainCommand struct {
	*app
	environment bool
}

func (e *explainCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "explain ID [path-to-WORKFLOW.md]",
		Short:             "Say why an issue would or would not be worked on now",
		Example:           "symphony explain GH-7\nsymphony --state branch:symphony-state explain GH-7 # with the state of the Action\nsymphony explain --environment",
		Annotations:       ofWorkflow(),
		ValidArgsFunction: completer{e.app}.issueAndWorkflow(startedOrToDo),
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if e.environment {
			return argumentsUpTo(1)(cmd, args)
		}
		return argumentsFrom(1, 2, issueOf("explain"))(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if e.environment {
			return e.printEnvironment(args)
		}
		return e.Run(cmd.Context(), args[0], args[1:])
	}
	cmd.Flags().BoolVar(&e.environment, "environment", false, "print the variables that the agent's commands get besides the plain ones, and why, instead of a verdict")
	return cmd
}

// printEnvironment prints the variables of the room of the agent's commands. Each session has a
// folder of its own for it, which is shown as <room>.
func (e *explainCommand) printEnvironment(args []string) error {
	_, wf, err := e.workflow(args)
	if err != nil {
		return err
	}
	if len(wf.Settings.Worker.Hosts) > 0 {
		return fmt.Errorf("%w: explain --environment: sessions run on the hosts of worker.ssh_hosts, with the variables of logins there: have an agent run env", wiring.ErrUsage)
	}
	return e.print(report.Environment{Services: codex.ServiceNames(wf.Settings.Services), Variables: attempt.RoomVariables(room.Room{
		Dir: "<room>", Lookup: e.Getenv, Network: len(wf.Settings.Network.Hosts) > 0,
	}, wf.Settings.Codex.Env)})
}

// Run plans a tick of the workflow that args name, and prints the verdict on the
// issue of this id or identifier.
func (e *explainCommand) Run(ctx context.Context, name string, args []string) error {
	r, wf, err := e.planner(args)
	if err != nil {
		return err
	}
	tick, err := r.Plan(ctx)
	if err != nil {
		return err
	}
	verdict, err := e.find(ctx, wf, name, tick, r.Log)
	if err != nil {
		return err
	}
	policy := wf.Settings.Policy
	free := policy.MaxConcurrent
	for _, c := range tick.Claims {
		if c.Owner.Shard == 0 && c.Phase.HasSession() { // others count in their fleet
			free--
		}
	}
	view := report.Verdict(wiring.Redacted(verdict, e.redactor), tick.Comments, e.ownCommand(), e.statePlace().FlagFor(wf.Path))
	view.Standing = report.Stand(tick.Verdicts, verdict.Issue.ID, max(free, 0), policy.ActiveStates)
	view.Ignored = wiring.Redacted(tick.Ignored[verdict.Issue.ID], e.redactor)
	view.Choice = report.Choice(wf.Settings.Codex.For(verdict.Issue.Labels).Choice)
	if owner := tick.Claims[verdict.Issue.ID].Owner; owner.Run != "" {
		view.Run = e.gitHub().Links(wf, e.gitHub().OwnRepository(wf.Path, wf)).RunPage(owner.Run, owner.Attempt)
	}
	return e.print(view)
}

// find returns the verdict on the issue that a person means by a name. It reads an issue that
// is neither claimed nor a candidate from the tracker.
func (e *explainCommand) find(ctx context.Context, wf workflow.Workflow, name string, tick report.Tick, log *slog.Logger) (schedule.Verdict, error) {
	of := func(id tracker.ID) int {
		return slices.IndexFunc(tick.Verdicts, func(v schedule.Verdict) bool { return v.Issue.ID == id })
	}
	if n, ok := matchIssue(wf, name, lookup.InTick(tick)); ok {
		if i := of(n.ID); i >= 0 {
			return tick.Verdicts[i], nil
		}
	}
	adapter, err := e.opener().Tracker(wf, log, true)
	if err != nil {
		return schedule.Verdict{}, err
	}
	issue, err := findIssue(ctx, wf, adapter, schedule.Issues{Claims: tick.Claims, Deliveries: tick.Deliveries}, name)
	if err != nil {
		return schedule.Verdict{}, err
	}
	if i := of(issue.ID); i >= 0 {
		return tick.Verdicts[i], nil
	}
	return schedule.Verdict{Issue: issue, Why: wf.Settings.Policy.IneligibleToStart(issue)}, nil
}
