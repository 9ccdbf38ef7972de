package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/report"
)

// statsCommand prints numbers about the issues of a period, from the state.
type statsCommand struct {
	*app
	since string
	json  bool
}

func (s *statsCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stats [path-to-WORKFLOW.md]",
		Short: "Print numbers about the issues of the last weeks",
		Long: `Print numbers about the issues of the last weeks: merged, closed, done and parked,
sessions, tokens and dollars for each merge, and the time to a pull request and to its merge.`,
		Example: "symphony stats\nsymphony stats --since 12w\nsymphony stats --since 2026-10-01 --json\nsymphony --state branch:symphony-state stats # as the Action keeps it",
		RunE:    func(cmd *cobra.Command, args []string) error { return s.Run(cmd.Context(), args, time.Now()) },
	}
	takeWorkflow(cmd)
	cmd.Flags().StringVar(&s.since, "since", "30d", "`begin` of the period: a time before now such as 36h, 30d or 12w, or a day such as 2026-10-01 (UTC)")
	cmd.Flags().BoolVar(&s.json, "json", false, "write the numbers as JSON; the same as --log-format json")
	return cmd
}

// Run prints the numbers until now.
func (s *statsCommand) Run(ctx context.Context, args []string, now time.Time) error {
	since, err := sinceOf(s.since, now)
	if err != nil {
		return fmt.Errorf("%w: --since %q: %w", wiring.ErrUsage, s.since, err)
	}
	state := stateCommand{app: s.app}
	state.takePath(args, 0)
	kept, wf, err := state.stateHere(wiring.StateReadOnly)
	if err != nil {
		return err
	}
	loaded, _, err := kept.Load(ctx)
	if err != nil {
		return err
	}
	if s.json {
		s.logFormat = "json"
	}
	return s.print(report.StatsOf(loaded, since, now, wf.Settings.Policy.Budget.Prices))
}

// maxSince bounds the period: no history is older than ten years.
const maxSince = 10 * 366 * 24 * time.Hour

func sinceOf(text string, now time.Time) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		if day.After(now) {
			return time.Time{}, fmt.Errorf("it is in the future: write a day that has begun")
		}
		return day, nil
	}
	for unit, length := range map[string]time.Duration{"h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		number, found := strings.CutSuffix(text, unit)
		if n, err := strconv.ParseUint(number, 10, 32); found && err == nil && n > 0 && n <= uint64(maxSince/length) {
			return now.Add(-time.Duration(n) * length), nil
		}
	}
	return time.Time{}, fmt.Errorf("write hours, days or weeks of at most ten years, such as 36h, 30d or 12w, or a day such as 2026-10-01")
}
