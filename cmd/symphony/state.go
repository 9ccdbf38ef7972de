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
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/lookup"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// stateCommand shows or changes the state of --state, or of a WORKFLOW.md.
type stateCommand struct {
	*app
	path      string // path of the WORKFLOW.md; empty for the one in the current folder
	allParked bool
}

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
			return fmt.Errorf("%w: say what to do: show, retry ID, release ID or resume", wiring.ErrUsage)
		},
	}
	retry := &cobra.Command{
		Use:               "retry ID... [path-to-WORKFLOW.md]",
		Short:             "Make parked or waiting issues due at once, with a clean record",
		Example:           "symphony state retry GH-7\nsymphony state retry GH-7 GH-8\nsymphony state retry --all-parked",
		Annotations:       ofWorkflow(),
		ValidArgsFunction: completer{s.app}.issue(claimedIssues),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.retry(cmd.Context(), s.takePath(args, len(args)))
		},
	}
	retry.Flags().BoolVar(&s.allParked, "all-parked", false, "every parked issue, also those that wait for an answer")
	state.AddCommand(
		&cobra.Command{
			Use:               "show [ID] [path-to-WORKFLOW.md]",
			Short:             "Print every claim, deliveries, pauses and spending, or only those of an issue",
			Example:           "symphony state show\nsymphony state show GH-7\nsymphony state show other/WORKFLOW.md\nsymphony --state branch:symphony-state --log-format json state show # for a script",
			Annotations:       ofWorkflow(),
			Args:              argumentsUpTo(2),
			ValidArgsFunction: completer{s.app}.issueAndWorkflow(knownIssues),
			RunE:              func(cmd *cobra.Command, args []string) error { return s.show(cmd.Context(), s.takePath(args, 1)) },
		},
		retry,
		&cobra.Command{
			Use:               "release ID [path-to-WORKFLOW.md]",
			Short:             "Forget a parked or waiting issue's claim and its history, not its delivery",
			Example:           "symphony state release GH-7",
			Annotations:       ofWorkflow(),
			Args:              argumentsFrom(1, 2, issueOf("state release")),
			ValidArgsFunction: completer{s.app}.issueAndWorkflow(claimedIssues),
			RunE:              func(cmd *cobra.Command, args []string) error { return s.release(cmd.Context(), s.takePath(args, 1)) },
		},
		&cobra.Command{
			Use:               "resume [path-to-WORKFLOW.md]",
			Short:             "End the pause after a systemic failure: one session tries first",
			Example:           "symphony state resume",
			Annotations:       ofWorkflow(),
			Args:              argumentsUpTo(1),
			ValidArgsFunction: completeWorkflow,
			RunE: func(cmd *cobra.Command, args []string) error {
				s.takePath(args, 0)
				return s.resume(cmd.Context())
			},
		},
	)
	return state
}

// show prints the state, or its part about the issue that args name.
func (s *stateCommand) show(ctx context.Context, args []string) error {
	kept, wf, err := s.stateHere(wiring.StateReadOnly)
	if err != nil {
		return err
	}
	state, _, err := kept.Load(ctx)
	if err != nil {
		return err
	}
	for _, name := range args {
		known := lookup.InState(state.Issues)
		n, ok := matchIssue(wf, name, known)
		if !ok {
			return unknownIssueError("the state knows no issue", name, "issues in "+s.shownState(wf), known)
		}
		maps.DeleteFunc(state.Claims, func(id tracker.ID, _ schedule.Claim) bool { return id != n.ID })
		state.Days, state.History = nil, nil // they are of all issues
		maps.DeleteFunc(state.Deliveries, func(id tracker.ID, _ schedule.Delivery) bool { return id != n.ID })
	}
	view := report.State(wiring.Redacted(state, s.redactor), time.Now())
	view.Program, view.Place, view.Comments, view.Prices = s.ownCommand(), s.state, wiring.CommentsOf(wf), wf.Settings.Policy.Budget.Prices
	return s.print(view)
}

// takePath takes the path of a WORKFLOW.md from the end of the arguments of a command that
// takes a number of issues, and returns the names of the issues.
func (s *stateCommand) takePath(args []string, issues int) (names []string) {
	last := len(args) - 1
	if last >= 0 && (last >= issues || isWorkflowPath(args[last])) {
		s.path = args[last]
		return args[:last]
	}
	return args
}

// isWorkflowPath reports whether an argument where an issue may stand is a path.
func isWorkflowPath(arg string) bool { return filepath.Base(arg) == "WORKFLOW.md" }

// retry makes the issues with these names due, or all parked ones. If that is impossible for
// one of them, it changes none.
func (s *stateCommand) retry(ctx context.Context, names []string) error {
	switch {
	case s.allParked && len(names) > 0:
		return fmt.Errorf("%w: --all-parked is for every parked issue: leave out %s", wiring.ErrUsage, strings.Join(names, " "))
	case !s.allParked && len(names) == 0:
		return fmt.Errorf("%w: %s", wiring.ErrUsage, issueOf("state retry"))
	}
	return s.edit(ctx, func(wf workflow.Workflow, state *schedule.State) (string, error) {
		var claims []schedule.Claim
		for _, name := range names {
			claim, err := s.findClaim(wf, state, name)
			if err != nil {
				return "", err
			}
			claims = append(claims, claim)
		}
		if s.allParked {
			for _, c := range state.Claims {
				if c.Phase == schedule.Parked {
					claims = append(claims, c)
				}
			}
			slices.SortFunc(claims, func(a, b schedule.Claim) int { return tracker.CompareNaturally(a.Identifier, b.Identifier) })
		}
		var due []string
		for _, c := range claims {
			if !state.Retry(c.ID, time.Now()) {
				return "", notEdited("retry", c)
			}
			due = append(due, c.Identifier)
		}
		if len(due) == 0 {
			return "no issue is parked", nil
		}
		said := strings.Join(due, ", ") + ": due now"
		if pause := state.Pause; pause.Why != "" && pause.Until.After(time.Now()) {
			said += fmt.Sprintf(", but nothing starts until %s (end the pause with: %s): %s",
				pause.Until.Format(time.RFC3339), cmp.Or(report.StateCommand(s.ownCommand(), s.state, "resume"), s.ownCommand()+" state resume"), text.InWords(pause.Why))
		}
		return said, nil
	})
}

func (s *stateCommand) release(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("%w: %s", wiring.ErrUsage, issueOf("state release"))
	}
	return s.edit(ctx, func(wf workflow.Workflow, state *schedule.State) (string, error) {
		claim, err := s.findClaim(wf, state, names[0])
		if err != nil {
			return "", err
		}
		if !state.Release(claim.ID) {
			return "", notEdited("release", claim)
		}
		if place := cmp.Or(state.Deliveries[claim.ID].URL, state.Deliveries[claim.ID].Branch); place != "" {
			return fmt.Sprintf("%s: released; its delivery is kept: %s", claim.Identifier, place), nil
		}
		return claim.Identifier + ": released", nil
	})
}

func notEdited(operation string, c schedule.Claim) error {
	return fmt.Errorf("%s %s: it is %s; a run that is alive works on it, one that died is taken over by a later tick; symphony explain %[2]s says when, if that is known",
		operation, c.Identifier, c.Phase)
}

func (s *stateCommand) resume(ctx context.Context) error {
	return s.edit(ctx, func(_ workflow.Workflow, state *schedule.State) (string, error) {
		why := text.InWords(state.Pause.Why)
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

// edit changes the state, also while a run has it open, and prints the message of change.
func (s *stateCommand) edit(ctx context.Context, change func(workflow.Workflow, *schedule.State) (message string, err error)) error {
	kept, wf, err := s.stateHere(wiring.StateEdit)
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
	s.printItem("", said)
	return nil
}

// stateHere returns the state of --state or of the WORKFLOW.md, which need not be valid for
// that: then it has only a path.
func (s *stateCommand) stateHere(use wiring.StateUse) (*wiring.StateStore, workflow.Workflow, error) {
	var named []string
	if s.path != "" {
		named = []string{s.path}
	}
	path, err := workflowPath(named)
	if err != nil {
		return nil, workflow.Workflow{}, err
	}
	wf, err := s.workflows(path).Current()
	if err != nil {
		wf = workflow.Workflow{Path: path}
	}
	if _, noState := os.Lstat(wiring.DataFolder(path)); s.state == "" && errors.Is(err, fs.ErrNotExist) && errors.Is(noState, fs.ErrNotExist) {
		return nil, wf, fmt.Errorf("%w: there is neither a WORKFLOW.md nor a state in %s: go to the folder that has one, or name the state with --state", wiring.ErrUsage, filepath.Dir(path))
	}
	kept, err := s.statePlace().Open(wf, use)
	return kept, wf, err
}

// shownState returns the place of the state as --state takes it.
func (a *app) shownState(wf workflow.Workflow) string {
	return cmp.Or(a.state, "file:"+shownPath(filepath.Join(wiring.DataFolder(wf.Path), "state.json")))
}

func (s *stateCommand) findClaim(wf workflow.Workflow, state *schedule.State, name string) (schedule.Claim, error) {
	if n, ok := matchIssue(wf, name, lookup.InState(state.Issues)); ok {
		if c, claimed := state.Claims[n.ID]; claimed {
			return c, nil
		}
		d := state.Deliveries[n.ID]
		if place := cmp.Or(d.URL, d.Branch); place != "" {
			return schedule.Claim{}, fmt.Errorf("%w: %s has no claim: its work is published at %s", wiring.ErrUsage, d.Identifier, place)
		}
	}
	claimed := lookup.InState(schedule.Issues{Claims: state.Claims})
	return schedule.Claim{}, unknownIssueError("no claim of", name, "claims in "+s.shownState(wf), claimed)
}
