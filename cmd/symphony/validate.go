package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/workflow"
)

func (a *app) validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate [path-to-WORKFLOW.md]",
		Short: "Check WORKFLOW.md, its settings and secrets, the state and Codex; name every problem",
		Args:  usage(cobra.MaximumNArgs(1)),
		RunE:  func(cmd *cobra.Command, args []string) error { return a.validate(cmd.Context(), args) },
	}
}

// validate runs every check that can be run, whatever the others found.
func (a *app) validate(ctx context.Context, args []string) error {
	path, err := workflowPath(args)
	if err != nil {
		return err
	}
	a.dryRun = true // nothing is made or changed
	wf, err := a.workflows(path).Current()
	for _, warning := range wf.Warnings {
		fmt.Fprintf(a.stdout, "warning   %s\n", warning)
	}
	if err := a.check("workflow", path, err); err != nil {
		return invalid(err) // without settings there is nothing more to check
	}
	problems := []error{
		a.check("prompt", "", prompt.Check(wf.Prompt)),
		a.check("tracker", wf.Settings.Tracker.Kind, a.checkTracker(ctx, wf)),
		a.check("state", "", a.checkState(ctx, path)),
	}
	for _, weakness := range wf.Settings.Codex.PostureWarnings() {
		fmt.Fprintf(a.stdout, "warning   %s\n", weakness)
	}
	version, err := a.preflight(ctx, wf)
	problems = append(problems, a.check("codex", strings.TrimSpace(wf.Settings.Codex.Command+" "+version), err))
	if ctx.Err() != nil {
		return fmt.Errorf("validate: %w", ctx.Err())
	}
	return invalid(problems...)
}

// check prints the result of one check. It returns what the problem is with.
func (a *app) check(what, detail string, err error) error {
	if err == nil {
		fmt.Fprintf(a.stdout, "ok        %-9s %s\n", what, detail)
		return nil
	}
	fmt.Fprintf(a.stdout, "problem   %-9s %s\n", what, a.redactor.String(err.Error()))
	return errors.New(what)
}

// invalid returns the error of a validation in which checks have failed, nil when
// none has. Standard output has their problems in full.
func invalid(failed ...error) error {
	var names []string
	for _, err := range failed {
		if err != nil {
			names = append(names, err.Error())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%w: validate found problems, which standard output describes: %s", errUsage, strings.Join(names, ", "))
}

// checkTracker asks the tracker for the active states: the credential, the
// scope and the network are then known to work.
func (a *app) checkTracker(ctx context.Context, wf workflow.Workflow) error {
	log := slog.New(a.redactor.Handler(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	world, err := a.connect(wf, log)
	if err != nil {
		return err
	}
	for _, warning := range slices.Concat(world.Tracker.Warnings, world.Warnings) {
		fmt.Fprintf(a.stdout, "warning   %s\n", warning)
	}
	if world.Tracker.Check != nil {
		if err := world.Tracker.Check(ctx); err != nil {
			return err
		}
	}
	_, err = world.Tracker.IssuesByState(ctx, wf.Settings.Policy.ActiveStates)
	return err
}

func (a *app) checkState(ctx context.Context, workflowPath string) error {
	place, err := a.place(workflowPath)
	if err != nil {
		return err
	}
	_, _, err = place.Load(ctx)
	return err
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
