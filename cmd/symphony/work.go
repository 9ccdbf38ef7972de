package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// workCommand performs the second part of a fleet's tick, once for each shard: it works on
// the issues that the plan claimed for the shard.
type workCommand struct {
	*app
	tickOptions
	exchange string // a folder
	shard    string // number of the shard, as text; not yet checked
	job      string // id of the job of the workflow run; empty if it is not known
	giveBack bool   // start nothing

	plan  fleet.Plan
	slice fleet.Slice
	store *fleet.SliceStore
}

func (c *workCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "work --shard NUMBER --exchange FOLDER [flags] [path-to-WORKFLOW.md]",
		Short: "Work on the issues of one shard of a fleet",
		Long: `Work is the second of the three parts of a tick that runs on many machines: it works on
the issues that "symphony plan" claimed for one shard, one session each. It needs
plan.json in the exchange folder, does not touch the state, and leaves its result in the
folder for "symphony collect". Agents cannot read the folder, nor a state file that
--state names: name it if it is on the same machine. Shards of one machine need a working
folder each. Without a live display, the log shows what sessions do while they do it.`,
		Example: "symphony work --exchange exchange --shard 3",
		RunE:    func(cmd *cobra.Command, args []string) error { return c.Run(cmd.Context(), args) },
	}
	takeWorkflow(cmd)
	flags := cmd.Flags()
	addExchange(cmd, &c.exchange)
	flags.StringVar(&c.shard, "shard", "", "the `number` of the shard, as the matrix of the plan has it")
	flags.BoolVar(&c.giveBack, "give-back", false, "start nothing, such as where Codex cannot be installed: the issues are due again, and nothing is charged")
	flags.StringVar(&c.job, "job", "", "the `id` of the job of the workflow run, for links")
	flags.DurationVar(&c.deadline, "deadline", 0, "stop gracefully before this much time has passed (0: --shard-deadline of the plan)")
	c.addLogsFlag(flags)
	c.addReportFlags(flags)
	return cmd
}

// Run checks the flags and performs the shard's part of the tick.
func (c *workCommand) Run(ctx context.Context, args []string) error {
	number, err := shardNumber(c.shard)
	if err != nil {
		return err
	}
	if err := checkExchange(&c.exchange); err != nil {
		return err
	}
	if c.plan, err = fleet.ReadPlan(c.exchange); err != nil {
		return err
	}
	if again, err := c.isRunAgain(); err != nil || again {
		return err
	}
	slice, ok := c.plan.Slice(number)
	if !ok {
		c.Actions.Notice("Nothing to do", planHasNo(c.plan, number)+".")
		return nil
	}
	c.slice, c.content = slice, client.NewContentPace(len(c.plan.Shards))
	c.once, c.failOn = true, failNever
	if limit := c.limit(); c.deadline == 0 || c.deadline > limit {
		c.deadline = limit
	}
	if err := c.endBeforeLease(time.Now()); err != nil {
		return err
	}
	path, err := c.check(c.Process, args)
	if err != nil {
		return err
	}
	run, err := openTick(c.app, path, c.tickOptions, opening{store: c.openSlice, live: true, noLogin: c.giveBack, readsOnly: c.giveBack})
	if err != nil {
		return err
	}
	defer run.close()
	c.prepare(run.Runner, run.event, run.wf)
	tick, err := run.perform(ctx, func(ctx context.Context) (report.Tick, error) {
		if c.giveBack {
			return c.returnIssues(ctx, run.Runner)
		}
		return c.work(ctx, run.Runner)
	})
	if nothingDone(tick, &err) {
		return err
	}
	tick = run.complete(tick, err, false)
	// Collect writes the summary of all shards.
	return run.conclude(tick, err, errors.Join(
		c.addReport(tick), run.printReport(tick), run.writeReport(tick), run.writeMetrics(tick), run.publish(tick, err != nil, run.outputs(tick))))
}

func shardNumber(text string) (int, error) {
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 || number > schedule.MaxShards {
		return 0, fmt.Errorf("%w: --shard is %q: want the number of a shard, from 1 to %d; without one the plan had no work, and no shard must be started", wiring.ErrUsage, text, schedule.MaxShards)
	}
	return number, nil
}

// planHasNo returns the reason why a shard has nothing to do. An engine that knows the number
// of its jobs before the plan starts all of them.
func planHasNo(p fleet.Plan, shard int) string {
	return fmt.Sprintf("The plan has %s, and no shard %d", text.Count(len(p.Shards), "shard"), shard)
}

// limit returns the time in which the plan says that the shard has to end its sessions.
func (c *workCommand) limit() time.Duration { return time.Duration(c.plan.Owner.Limit) * time.Second }

// timeLeft returns the rest of a limit that counts from the beginning of a job, at least
// a second. The next plan assumes that the job works no longer than its limit.
func timeLeft(limit time.Duration, began, now time.Time) time.Duration {
	if gone := now.Sub(began); !began.IsZero() && gone > 0 {
		limit -= gone
	}
	return max(limit, time.Second)
}

// isRunAgain reports whether this job belongs to another attempt of the workflow run than the
// plan: by now the claims of the shard may have another owner. It fails for a plan of another
// run.
func (c *workCommand) isRunAgain() (bool, error) {
	if !c.Actions.InActions() {
		return false, nil
	}
	here, planned := c.Owner(), c.plan.Owner
	switch {
	case here.Run != planned.Run:
		return false, fmt.Errorf("%w: the plan in %s is that of run %s: a shard works in the run of its plan", wiring.ErrUsage, c.exchange, planned.Run)
	case here.Attempt != planned.Attempt:
		c.Actions.Notice("Nothing to do", fmt.Sprintf(
			"The plan is of attempt %d of this run, and its issues are planned again by the next tick. To start again at once, use Re-run all jobs.", planned.Attempt))
		return true, nil
	}
	return false, nil
}

// endBeforeLease shortens the deadline where nobody can be asked whether the shard still
// works: then it has to end before others take over its issues. It fails if there is no time
// left.
func (c *workCommand) endBeforeLease(now time.Time) error {
	if c.Actions.InActions() {
		return nil
	}
	end := time.UnixMilli(c.plan.Owner.Started).Add(c.limit() + queueTime)
	if end.Sub(now) < time.Minute {
		return fmt.Errorf("%w: the plan in %s counts until %s, so others may work on its issues: plan again", wiring.ErrUsage, c.exchange, end.UTC().Format(time.RFC3339))
	}
	c.deadline = min(c.deadline, end.Sub(now))
	return nil
}

// openSlice returns a store that opens the slice of the shard in place of the state.
func (c *workCommand) openSlice() *wiring.StateStore {
	return &wiring.StateStore{Redactor: c.redactor, Exclusive: true, Open: func(context.Context) (_ runner.Store, err error) {
		c.store, err = fleet.OpenSlice(c.exchange, c.plan, c.slice.Number, c.job)
		return c.store, err
	}}
}

func (c *workCommand) prepare(r *runner.Runner, event action.Event, wf workflow.Workflow) {
	r.Self, r.Shards = c.slice.State.Self, len(c.plan.Shards)
	r.Deadline = min(r.Deadline, timeLeft(c.limit(), event.Began, time.Now()))
	r.Denied.Paths = append(r.Denied.Paths, ownPaths(c.Process, wf.Path, c.exchange, fleet.Names()...)...)
}

// work runs the sessions of the shard, which resume the threads of earlier sessions.
func (c *workCommand) work(ctx context.Context, r *runner.Runner) (report.Tick, error) {
	_, _, err := r.Store.Load(ctx) // opens the slice
	if err == nil {
		err = c.store.UnpackThreads(r.SessionDir, c.ThreadSecret())
	}
	switch {
	case errors.Is(err, fleet.ErrWorked), c.store == nil:
		return report.Tick{}, err
	case err != nil:
		c.warn(fmt.Sprintf("some threads cannot be resumed, so their issues begin new ones: %v", err))
	}
	tick, err := r.Run(ctx)
	if c.ThreadSecret() == "" && r.Account.Tokens != nil && c.store.HasThreads() {
		c.warn("threads stay in this shard, so its issues begin new ones: no secret lasts that could seal them; an App's key (private-key) or LINEAR_API_KEY would")
	}
	if packed := c.store.PackThreads(r.SessionDir, c.ThreadSecret()); packed != nil {
		c.warn(fmt.Sprintf("some threads are lost, so their issues begin new ones: %v", packed))
	}
	return tick, err
}

// returnIssues starts nothing. The first result of the slice says so, and stays the result.
func (c *workCommand) returnIssues(ctx context.Context, r *runner.Runner) (report.Tick, error) {
	if _, _, err := r.Store.Load(ctx); err != nil { // writes the first result
		return report.Tick{}, err
	}
	return report.Tick{Warnings: []string{fmt.Sprintf("shard %d could not begin, so its issues are due again: see the log of its job", c.slice.Number)}}, nil
}

func (c *workCommand) addReport(tick report.Tick) error {
	if c.store == nil {
		return nil // the slice was never opened
	}
	return c.store.Report(tick)
}
