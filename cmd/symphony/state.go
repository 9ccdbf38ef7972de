package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func (a *app) stateCommand() *cobra.Command {
	state := &cobra.Command{
		Use:   "state",
		Short: "Show or mend what is kept between runs",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fmt.Errorf("%w: say what to do: show, retry ID or release ID", errUsage)
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
				return a.editState(cmd.Context(), args[0], "retry", func(s *schedule.State, id tracker.ID) bool { return s.Retry(id, time.Now()) })
			},
		},
		&cobra.Command{
			Use:   "release ID",
			Short: "Forget a parked or waiting issue's claim and its history",
			Args:  usage(cobra.ExactArgs(1)),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.editState(cmd.Context(), args[0], "release", func(s *schedule.State, id tracker.ID) bool { return s.Drop(id) })
			},
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

// editState changes one claim, under the lock of the state.
func (a *app) editState(ctx context.Context, name, verb string, edit func(*schedule.State, tracker.ID) bool) error {
	place, err := a.herePlace()
	if err != nil {
		return err
	}
	defer place.Close()
	state, rev, err := place.Load(ctx)
	if err != nil {
		return err
	}
	claim, err := findClaim(state, name)
	if err != nil {
		return err
	}
	if !edit(state, claim.ID) {
		return fmt.Errorf("%s %s: it is %s; a run that is alive works on it, one that died is taken over by the next tick", verb, name, claim.Phase)
	}
	if _, err := place.Save(ctx, state, rev); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s: %s\n", claim.Identifier, map[string]string{"retry": "due now", "release": "released"}[verb])
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
