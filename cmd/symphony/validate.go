package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// validateCommand checks a workflow and what it needs. It makes and changes nothing.
type validateCommand struct{ *app }

func (v *validateCommand) command() *cobra.Command {
	return &cobra.Command{
		Use:               "validate [path-to-WORKFLOW.md]",
		Short:             "Check WORKFLOW.md, its settings and secrets, the state and Codex; name every problem",
		Example:           "symphony validate\nsymphony validate other/WORKFLOW.md",
		Annotations:       ofWorkflow(),
		Args:              usage(cobra.MaximumNArgs(1)),
		ValidArgsFunction: completeWorkflow,
		RunE:              func(cmd *cobra.Command, args []string) error { return v.Run(cmd.Context(), args) },
	}
}

// Run runs every check that can be run, whatever the others found.
func (v *validateCommand) Run(ctx context.Context, args []string) error {
	path, err := workflowPath(args)
	if err != nil {
		return err
	}
	wf, err := v.workflows(path).Current()
	if err := v.check("workflow", path, err); err != nil {
		return invalid(err) // without settings there is nothing more to check
	}
	for _, warning := range wf.Warnings {
		v.printItem("warning   ", warning)
	}
	problems := []error{
		v.check("prompt", "", prompt.Check(wf.Prompt, wf.PromptLine)),
		v.check("tracker", wf.Settings.Tracker.Kind, v.checkTracker(ctx, wf)),
		v.check("state", "", v.checkState(ctx, wf)),
	}
	if v.hasApp() {
		id, _ := v.getenv(appIDVariable)
		problems = append(problems, v.check("app", id, v.checkAppToken(ctx, wf)))
	}
	if wf.Settings.Repository != nil {
		found, err := v.checkRepository(ctx, wf)
		problems = append(problems, v.check("repository", found, err))
	}
	for _, weakness := range wf.Settings.Codex.PostureWarnings() {
		v.printItem("warning   ", weakness)
	}
	version, err := v.preflight(ctx, wf)
	problems = append(problems, v.check("codex", strings.TrimSpace(wf.Settings.Codex.Command+" "+version), err))
	if ctx.Err() != nil {
		return fmt.Errorf("validate: %w", ctx.Err())
	}
	return invalid(problems...)
}

// check prints the result of one check. It returns nil, or an error that names what
// was checked.
func (v *validateCommand) check(what, detail string, err error) error {
	if err == nil {
		v.printItem(fmt.Sprintf("ok        %-9s ", what), detail)
		return nil
	}
	v.printItem(fmt.Sprintf("problem   %-9s ", what), err.Error())
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
	return fmt.Errorf("%w: validate found problems with: %s; standard output describes them", errUsage, strings.Join(names, ", "))
}

// checkTracker asks the tracker for the issues in active states, for which the
// credential, the scope and the network have to work.
func (v *validateCommand) checkTracker(ctx context.Context, wf workflow.Workflow) error {
	log := slog.New(v.redactor.Handler(slog.NewTextHandler(v.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	conn, err := v.connect(ctx, wf, log, true)
	if err != nil {
		return err
	}
	for _, warning := range slices.Concat(conn.Tracker.Warnings, conn.Warnings) {
		v.printItem("warning   ", warning)
	}
	if conn.Tracker.Check != nil {
		if err := conn.Tracker.Check(ctx); err != nil {
			return err
		}
	}
	_, err = conn.Tracker.IssuesByState(ctx, wf.Settings.Policy.ActiveStates)
	return err
}

// checkState reads the state.
func (v *validateCommand) checkState(ctx context.Context, wf workflow.Workflow) error {
	state, err := v.openState(wf, stateReadOnly)
	if err != nil {
		return err
	}
	_, _, err = state.Load(ctx)
	return err
}

// checkAppToken gets a token of the GitHub App, for which all its settings have to be
// right.
func (v *validateCommand) checkAppToken(ctx context.Context, wf workflow.Workflow) error {
	tokens, err := v.repositoryToken(wf, quiet())
	if err == nil && tokens != nil {
		_, err = tokens(ctx)
	}
	return err
}

// checkRepository asks the remote for its branches, and GitHub for its pull requests.
// It returns what was found.
func (v *validateCommand) checkRepository(ctx context.Context, wf workflow.Workflow) (string, error) {
	folder, err := os.MkdirTemp(v.tempDir(), "symphony-validate-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	r, err := v.openRepositoryIn(ctx, folder, wf, quiet())
	if err != nil {
		return "", err
	}
	store, err := r.Host.Store(ctx, r.Remote)
	if err != nil {
		return "", err
	}
	defer store.Close()
	found, err := store.Look(ctx, r.Source)
	if err != nil {
		return "", err
	}
	if r.Publisher != nil && r.Publisher.GitHub != nil {
		if _, err := r.Publisher.GitHub.PullRequests(ctx, r.Source.Prefix+"none"); err != nil {
			return "", err
		}
	}
	what := fmt.Sprintf("%s, base %s, delivery %s", r.Remote, found.Base, wf.Settings.Delivery.Kind)
	if r.Source.Submodules {
		what += ", with submodules"
	}
	if r.Source.LFS {
		what += ", with the contents of files in Git LFS"
	}
	return what, nil
}

// quiet returns a logger that writes nothing.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
