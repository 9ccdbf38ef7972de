package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/runner/lookup"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// stateCommand shows or changes the state of --state, or of the WORKFLOW.md in the
// current folder.
type stateCommand struct{ *app }

func (s *stateCommand) command() *cobra.Command {
	state := &cobra.Command{
		Use:         "state",
		Short:       "Show or change what is kept between runs",
		Example:     "symphony state show\nsymphony --state branch:symphony-state state show # as the Action keeps it",
		Annotations: ofWorkflow(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return fmt.Errorf("%w: say what to do: show, retry ID, release ID or resume", errUsage)
		},
	}
	state.AddCommand(
		&cobra.Command{
			Use:               "show [ID]",
			Short:             "Print every claim, deliveries, pauses and spending, or only those of an issue",
			Example:           "symphony state show\nsymphony state show GH-7\nsymphony --state branch:symphony-state --log-format json state show # for a script",
			Annotations:       ofWorkflow(),
			Args:              argumentsUpTo(1),
			ValidArgsFunction: s.completeKnown,
			RunE:              func(cmd *cobra.Command, args []string) error { return s.show(cmd.Context(), args) },
		},
		&cobra.Command{
			Use:               "retry ID",
			Short:             "Make a parked or waiting issue due at once, with a clean record",
			Example:           "symphony state retry GH-7",
			Annotations:       ofWorkflow(),
			Args:              argumentsFrom(1, 1, issueOf("state retry")),
			ValidArgsFunction: s.completeClaim,
			RunE: func(cmd *cobra.Command, args []string) error {
				return s.editClaim(cmd.Context(), args[0], "retry", func(state *schedule.State, id tracker.ID) bool { return state.Retry(id, time.Now()) })
			},
		},
		&cobra.Command{
			Use:               "release ID",
			Short:             "Forget a parked or waiting issue's claim and its history, not its delivery",
			Example:           "symphony state release GH-7",
			Annotations:       ofWorkflow(),
			Args:              argumentsFrom(1, 1, issueOf("state release")),
			ValidArgsFunction: s.completeClaim,
			RunE: func(cmd *cobra.Command, args []string) error {
				return s.editClaim(cmd.Context(), args[0], "release", func(state *schedule.State, id tracker.ID) bool { return state.Release(id) })
			},
		},
		&cobra.Command{
			Use:               "resume",
			Short:             "End the pause after a systemic failure: one session tries first",
			Example:           "symphony state resume",
			Annotations:       ofWorkflow(),
			Args:              argumentsUpTo(0),
			ValidArgsFunction: cobra.NoFileCompletions,
			RunE:              func(cmd *cobra.Command, _ []string) error { return s.resume(cmd.Context()) },
		},
	)
	return state
}

// show prints the state, or what it holds about the issue that args name.
func (s *stateCommand) show(ctx context.Context, args []string) error {
	kept, wf, err := s.stateHere(stateReadOnly)
	if err != nil {
		return err
	}
	state, _, err := kept.Load(ctx)
	if err != nil {
		return err
	}
	for _, name := range args {
		known := lookup.InState(state)
		n, ok := matchIssue(wf, name, known)
		if !ok {
			return unknownIssueError("the state knows no issue", name, "issues in it", known)
		}
		maps.DeleteFunc(state.Claims, func(id tracker.ID, _ schedule.Claim) bool { return id != n.ID })
		state.Days, state.History = nil, nil // they are of all issues
		maps.DeleteFunc(state.Deliveries, func(id tracker.ID, _ schedule.Delivery) bool { return id != n.ID })
	}
	return s.print(report.State(redacted(state, s.redactor), time.Now()).ReachedBy(s.ownCommand(), s.state))
}

// editClaim changes one claim and prints the result.
func (s *stateCommand) editClaim(ctx context.Context, name, operation string, edit func(*schedule.State, tracker.ID) bool) error {
	return s.edit(ctx, func(wf workflow.Workflow, state *schedule.State) (string, error) {
		claim, err := findClaim(wf, state, name)
		if err != nil {
			return "", err
		}
		if !edit(state, claim.ID) {
			return "", fmt.Errorf("%s %s: it is %s; a run that is alive works on it, one that died is taken over by a later tick; symphony explain %[2]s says when, if that is known", operation, name, claim.Phase)
		}
		if operation == "release" {
			if place := cmp.Or(state.Deliveries[claim.ID].URL, state.Deliveries[claim.ID].Branch); place != "" {
				return fmt.Sprintf("%s: released; its delivery is kept: %s", claim.Identifier, place), nil
			}
			return claim.Identifier + ": released", nil
		}
		if pause := state.Pause; pause.Why != "" && pause.Until.After(time.Now()) {
			return fmt.Sprintf("%s: due now, but nothing starts until %s (end the pause with: %s): %s",
				claim.Identifier, pause.Until.Format(time.RFC3339), cmp.Or(report.StateCommand(s.ownCommand(), s.state, "resume"), s.ownCommand()+" state resume"), pause.Why), nil
		}
		return claim.Identifier + ": due now", nil
	})
}

// resume ends a pause.
func (s *stateCommand) resume(ctx context.Context) error {
	return s.edit(ctx, func(_ workflow.Workflow, state *schedule.State) (string, error) {
		why := state.Pause.Why
		switch {
		case why == "":
			return "there is no pause", nil
		case !state.Resume(time.Now()):
			return "the pause is over already: the next tick tries one session first: " + why, nil
		}
		return "the pause is over: the next tick tries one session first: " + why, nil
	})
}

// maxEdits limits how often an edit is tried while runs save the same state.
const maxEdits = 10

// edit changes the state, also while a run has it open, and prints what change
// returns.
func (s *stateCommand) edit(ctx context.Context, change func(workflow.Workflow, *schedule.State) (message string, err error)) error {
	kept, wf, err := s.stateHere(stateEdit)
	if err != nil {
		return err
	}
	defer kept.Close()
	var said string
	for try := 0; try == 0 || errors.Is(err, store.ErrConflict) && try < maxEdits; try++ {
		state, rev, loadErr := kept.Load(ctx)
		if loadErr != nil {
			return loadErr
		}
		if said, err = change(wf, state); err != nil {
			return err
		}
		_, err = kept.Save(ctx, state, rev)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(s.stdout, s.redactor.String(said))
	return nil
}

// stateHere returns the state of --state or of the WORKFLOW.md in this folder, which need
// not be valid for that: then it has only a path.
func (s *stateCommand) stateHere(use stateUse) (*stateStore, workflow.Workflow, error) {
	path, err := workflowPath(nil)
	if err != nil {
		return nil, workflow.Workflow{}, err
	}
	wf, err := s.workflows(path).Current()
	if err != nil {
		wf = workflow.Workflow{Path: path}
	}
	if _, noState := os.Lstat(dataFolder(path)); s.state == "" && errors.Is(err, fs.ErrNotExist) && errors.Is(noState, fs.ErrNotExist) {
		return nil, wf, fmt.Errorf("%w: there is neither a WORKFLOW.md nor a state in %s: go to the folder that has one, or name the state with --state", errUsage, filepath.Dir(path))
	}
	kept, err := s.openState(wf, use)
	return kept, wf, err
}

// findClaim returns the claim of the issue that a person means by a name.
func findClaim(wf workflow.Workflow, state *schedule.State, name string) (schedule.Claim, error) {
	if n, ok := matchIssue(wf, name, lookup.InState(state)); ok {
		if c, claimed := state.Claims[n.ID]; claimed {
			return c, nil
		}
		d := state.Deliveries[n.ID]
		if place := cmp.Or(d.URL, d.Branch); place != "" {
			return schedule.Claim{}, fmt.Errorf("%w: %s has no claim: its work is published at %s", errUsage, d.Identifier, place)
		}
	}
	claimed := lookup.InState(&schedule.State{Claims: state.Claims})
	return schedule.Claim{}, unknownIssueError("no claim of", name, "claims", claimed)
}
