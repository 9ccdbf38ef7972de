package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/report"
)

// collectCommand performs the last part of a fleet's tick: it settles the results of the
// shards.
type collectCommand struct {
	*app
	tickOptions
	exchange string // a folder
	settled  bool   // the state with the results was saved
}

func (c *collectCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "collect --exchange FOLDER [flags] [path-to-WORKFLOW.md]",
		Short: "Apply the results of the shards of a fleet to the state",
		Long: `Collect is the last of the three parts of a tick that runs on many machines. It applies the
results that the shards left in the exchange folder to the state, in one save, gives back
the issues of shards that never began, and counts the issues of those that left nothing as
failed. It may be repeated: what was applied once stays as it is.`,
		Example: "symphony collect --exchange exchange --state branch:symphony-state",
		RunE:    func(cmd *cobra.Command, args []string) error { return c.Run(cmd.Context(), args) },
	}
	takeWorkflow(cmd)
	flags := cmd.Flags()
	addExchange(cmd, &c.exchange)
	c.addReportFlags(flags)
	c.addFailOnFlag(flags)
	return cmd
}

// Run checks the flags and collects the results of the fleet.
func (c *collectCommand) Run(ctx context.Context, args []string) error {
	if err := checkExchange(&c.exchange); err != nil {
		return err
	}
	c.once = true
	path, err := c.check(c.Process, args)
	if err != nil {
		return err
	}
	run, err := openTick(c.app, path, c.tickOptions, opening{noLogin: true, readsOnly: true})
	if err != nil {
		return err
	}
	defer run.close()
	run.Login, run.Test = nil, nil // only shards have the login of the agent
	tick, err := run.perform(ctx, func(ctx context.Context) (report.Tick, error) { return c.collect(ctx, run.Runner) })
	if nothingDone(tick, &err) {
		return err
	}
	tick = run.complete(tick, err, c.Actions.InActions())                                     // outside the logs may be on this machine
	outputs := append(run.outputs(tick), [2]string{"settled", strconv.FormatBool(c.settled)}) // then nobody needs the results any more
	return run.conclude(tick, err, errors.Join(run.printReport(tick), run.writeReport(tick), run.writeMetrics(tick), run.publish(tick, true, outputs)))
}

// collect reads the results, settles them, and keeps the threads of the issues that continue,
// for the shards of the next plan.
func (c *collectCommand) collect(ctx context.Context, r *runner.Runner) (report.Tick, error) {
	plan, err := fleet.ReadPlan(c.exchange)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.Actions.InActions():
		c.warn("the plan of this run is gone, and with it the results of its shards: if an attempt before has not collected them, their issues are tried again")
	case err != nil:
		return report.Tick{}, err
	}
	results, refused := fleet.ReadResults(c.exchange, plan)
	for _, f := range refused {
		c.warn(fmt.Sprintf("a result does not count, and the issues of its shard count as failed: %s: %v", f.Path, f.Err))
	}
	state, tick, err := r.Collect(ctx, plan, results)
	if c.settled = err == nil; c.settled {
		if kept := fleet.Bundle(c.exchange, results, state); kept != nil {
			c.warn(fmt.Sprintf("some threads are lost, so their issues begin new ones: %v", kept))
		}
	}
	return tick, err
}
