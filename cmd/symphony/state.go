package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/tracker"
)

func (a *app) stateCommand() *cobra.Command {
	state := &cobra.Command{
		Use:   "state",
		Short: "Show or change what is kept between runs",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fmt.Errorf("%w: say what to do: show, retry ID, release ID or resume", errUsage)
		},
	}
	state.AddCommand(
		&cobra.Command{
			Use:   "show",
			Short: "Print every claim, pauses and spending",
			Args:  usage(cobra.NoArgs),
			RunE:  func(cmd *cobra.Command, _ []string) error { return a.showState(cmd.Context()) },
		},
		&cobra.Command{
			Use:   "retry ID",
			Short: "Make a parked or waiting issue due at once, with a clean record",
			Args:  usage(cobra.ExactArgs(1)),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.editClaim(cmd.Context(), args[0], "retry", func(s *schedule.State, id tracker.ID) bool { return s.Retry(id, time.Now()) })
			},
		},
		&cobra.Command{
			Use:   "release ID",
			Short: "Forget a parked or waiting issue's claim and its history",
			Args:  usage(cobra.ExactArgs(1)),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.editClaim(cmd.Context(), args[0], "release", func(s *schedule.State, id tracker.ID) bool { return s.Release(id) })
			},
		},
		&cobra.Command{
			Use:   "resume",
			Short: "End a pause for everyone: one session tries first",
			Args:  usage(cobra.NoArgs),
			RunE:  func(cmd *cobra.Command, _ []string) error { return a.resume(cmd.Context()) },
		},
	)
	return state
}

func (a *app) showState(ctx context.Context) error {
	a.dryRun = true
	place, err := a.herePlace()
	if err != nil {
		return err
	}
	state, _, err := place.Load(ctx)
	if err != nil {
		return err
	}
	return a.print(report.State(state, time.Now()))
}

// editClaim changes one claim, and says what became of it.
func (a *app) editClaim(ctx context.Context, name, verb string, edit func(*schedule.State, tracker.ID) bool) error {
	return a.editState(ctx, func(s *schedule.State) (string, error) {
		claim, err := findClaim(s, name)
		if err != nil {
			return "", err
		}
		if !edit(s, claim.ID) {
			return "", fmt.Errorf("%s %s: it is %s; a run that is alive works on it, one that died is taken over by the next tick", verb, name, claim.Phase)
		}
		if verb == "release" {
			return claim.Identifier + ": released", nil
		}
		if pause := s.Pause; pause.Why != "" && pause.Until.After(time.Now()) {
			return fmt.Sprintf("%s: due now, but nothing starts until %s (end the pause with: symphony state resume): %s",
				claim.Identifier, pause.Until.Format(time.RFC3339), pause.Why), nil
		}
		return claim.Identifier + ": due now", nil
	})
}

// resume ends a pause.
func (a *app) resume(ctx context.Context) error {
	return a.editState(ctx, func(s *schedule.State) (string, error) {
		why := s.Pause.Why
		switch {
		case why == "":
			return "there is no pause", nil
		case !s.Resume(time.Now()):
			return "the pause is over already: the next tick tries one session first: " + why, nil
		}
		return "the pause is over: the next tick tries one session first: " + why, nil
	})
}

// maxEdits is how often an edit is tried on a state that runs save at once.
const maxEdits = 10

// editState changes the state, also while a run has it open, and prints what
// edit says about it.
func (a *app) editState(ctx context.Context, edit func(*schedule.State) (said string, err error)) error {
	place, err := a.herePlace()
	if err != nil {
		return err
	}
	if file, ok := place.(*stateFile); ok {
		file.edit = true
	}
	defer place.Close()
	var said string
	for try := 0; try == 0 || errors.Is(err, store.ErrConflict) && try < maxEdits; try++ {
		state, rev, loadErr := place.Load(ctx)
		if loadErr != nil {
			return loadErr
		}
		if said, err = edit(state); err != nil {
			return err
		}
		_, err = place.Save(ctx, state, rev)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, a.redactor.String(said))
	return nil
}

// herePlace is the state of --state or of the WORKFLOW.md in this folder.
func (a *app) herePlace() (place, error) {
	path, err := filepath.Abs("WORKFLOW.md")
	if err != nil {
		return nil, err
	}
	return a.place(path)
}

// findClaim finds a claim by the id or identifier.
func findClaim(s *schedule.State, name string) (schedule.Claim, error) {
	if c, ok := s.Claims[tracker.ID(name)]; ok {
		return c, nil
	}
	var names []string
	for _, c := range s.Claims {
		if strings.EqualFold(c.Identifier, name) {
			return c, nil
		}
		names = append(names, c.Identifier)
	}
	slices.Sort(names)
	known := "there are no claims"
	if len(names) > 0 {
		known = "there are: " + strings.Join(names[:min(len(names), 20)], ", ")
	}
	return schedule.Claim{}, fmt.Errorf("%w: no claim of %q; %s", errUsage, name, known)
}
