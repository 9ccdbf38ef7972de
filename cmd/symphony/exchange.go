package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/workspace/git"
)

// exchangeCommand carries the exchange folder of a fleet from job to job over references of
// the repository, where there are no artifacts.
type exchangeCommand struct {
	*app
	folder  string
	shard   string // number of the shard, as text; not yet checked
	results bool
	run     string
	attempt int
	plan    string // name of the plan, as text; not yet checked

	pause time.Duration // pause before do is called again; 0 for two seconds
}

// handOverTries bounds how often a remote that is unavailable is asked.
const handOverTries = 3

func (c *exchangeCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exchange",
		Short: "Carry the exchange folder of a fleet over the repository",
		Long: `Exchange carries the plan and the results of a fleet from machine to machine over
references of the repository, below refs/symphony/fleet/. It is for engines that
cannot carry files from job to job, such as servers without artifacts. A reference is
created once and never moved. Everybody who can read the repository can read it until it
is dropped.

Inside GitHub Actions the repository is that of the job, with its GITHUB_TOKEN; elsewhere it is
that of the section repository of WORKFLOW.md.`,
		Example:     "symphony exchange push --exchange exchange",
		Annotations: ofWorkflow(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return fmt.Errorf("%w: say what to do: push, pull or drop", wiring.ErrUsage)
		},
	}
	push := &cobra.Command{
		Use:   "push --exchange FOLDER [flags] [path-to-WORKFLOW.md]",
		Short: "Push the plan, or the result of a shard",
		Long: `Push the plan of the exchange folder, or with --shard the result of this shard. Pushing
the same files again changes nothing. With the plan it deletes the references of fleets
that were planned more than eight days ago. It prints the name of the plan, which is when
it was made and its SHA-256; inside Actions the name is the output plan. With this name,
pull and drop take no other plan, not even a forged one.`,
		Example: "symphony exchange push --exchange exchange # after plan\nsymphony exchange push --exchange exchange --shard 3 # after work",
		RunE:    c.runOf(c.push),
	}
	push.Flags().StringVar(&c.shard, "shard", "", "push the result of the shard with this `number`")
	pull := &cobra.Command{
		Use:     "pull --exchange FOLDER [flags] [path-to-WORKFLOW.md]",
		Short:   "Fetch the plan, or the plan and all results",
		Example: "symphony exchange pull --exchange exchange --run 77 # before work\nsymphony exchange pull --exchange exchange --run 77 --results # before collect",
		RunE:    c.runOf(c.pull),
	}
	pull.Flags().BoolVar(&c.results, "results", false, "fetch the results too; then it is not an error if there is nothing")
	pull.Flags().StringVar(&c.shard, "shard", "", "inside Actions, set the output idle: whether the plan has no shard with this `number`")
	c.addRun(pull)
	drop := &cobra.Command{
		Use:     "drop [flags] [path-to-WORKFLOW.md]",
		Short:   "Delete the references of a fleet, after collect",
		Example: "symphony exchange drop --run 77",
		RunE:    c.runOf(c.drop),
	}
	c.addRun(drop)
	for _, sub := range []*cobra.Command{push, pull} {
		addExchange(sub, &c.folder)
	}
	for _, sub := range []*cobra.Command{push, pull, drop} {
		takeWorkflow(sub)
		cmd.AddCommand(sub)
	}
	return cmd
}

func (c *exchangeCommand) addRun(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.run, "run", "", "the `id` of the run, --owner of plan (default: inside Actions the workflow run; a plan without one needs --plan)")
	cmd.Flags().IntVar(&c.attempt, "attempt", 0, "which attempt of the run (default: inside Actions that of the workflow run, else 1)")
	cmd.Flags().StringVar(&c.plan, "plan", "", "the `name` of the plan, as push printed it (default: the only plan of the attempt)")
}

// runOf returns the function of a subcommand, which opens the references and calls do with
// them, and again while the remote is unavailable, at most handOverTries times.
func (c *exchangeCommand) runOf(do func(ctx context.Context, refs *git.FileRefs) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if cmd.Flag("exchange") != nil {
			if err := checkExchange(&c.folder); err != nil {
				return err
			}
		}
		_, wf, err := c.workflow(args)
		if err != nil {
			return err
		}
		c.opener().AddWorkflowSecrets(wf)
		refs, err := c.opener().FileRefs(ctx, wf)
		if err != nil {
			return err
		}
		defer refs.Close()
		for try := 1; ; try++ {
			err := do(ctx, refs)
			if !errors.Is(err, git.ErrUnavailable) || try == handOverTries {
				return err
			}
			fmt.Fprintf(c.Stderr, "symphony: tried again: %s\n", c.redactor.String(err.Error()))
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(cmp.Or(c.pause, 2*time.Second)):
			}
		}
	}
}

func (c *exchangeCommand) push(ctx context.Context, refs *git.FileRefs) error {
	if c.shard != "" {
		return c.pushResult(ctx, refs)
	}
	ref, name, err := fleet.PushPlan(ctx, refs, c.folder)
	if err != nil {
		return err
	}
	if err := fleet.DropOld(ctx, refs, time.Now()); err != nil {
		c.warn("References of old fleets are left", err)
	}
	if c.Actions.InActions() {
		if err := c.Actions.Output("plan", name.String()); err != nil {
			return err
		}
	}
	return c.tell("Pushed %s. The name of the plan is %s", ref, name)
}

// pushResult pushes the result of a shard. A shard that the plan does not have left none.
func (c *exchangeCommand) pushResult(ctx context.Context, refs *git.FileRefs) error {
	plan, err := fleet.ReadPlan(c.folder)
	if err != nil {
		return err
	}
	number, err := shardNumber(c.shard)
	if err != nil {
		return err
	}
	slice, there := plan.Slice(number)
	if !there {
		return c.tell("Nothing to hand over: %s.", planHasNo(plan, number))
	}
	ref, err := fleet.PushResult(ctx, refs, c.folder, slice)
	if err != nil {
		return err
	}
	return c.tell("Pushed %s.", ref)
}

// pull fetches the plan and the results of a fleet.
func (c *exchangeCommand) pull(ctx context.Context, refs *git.FileRefs) error {
	name, err := c.fleet()
	if err != nil {
		return err
	}
	pulled, refused, err := fleet.Pull(ctx, refs, c.folder, name, c.results)
	for _, err := range refused {
		c.warn("A result does not count", err)
	}
	switch {
	case err != nil:
		return err
	case pulled == 0 && c.results:
		return c.tell("Nothing was handed over by %s.", attemptOf(name))
	case pulled == 0:
		return fmt.Errorf("pull the plan: %w: there is none of %s: push it after symphony plan, and name its run with --run", fleet.ErrUnreadable, attemptOf(name))
	}
	if err := c.tellIdle(); err != nil {
		return err
	}
	return c.tell("Took %s of %s.", text.Count(pulled, "reference"), attemptOf(name))
}

// tellIdle sets the output idle, by which the job of a shard without issues installs nothing.
// Without the flag --shard it does nothing.
func (c *exchangeCommand) tellIdle() error {
	if c.shard == "" || !c.Actions.InActions() {
		return nil
	}
	number, err := shardNumber(c.shard)
	if err != nil {
		return err
	}
	plan, err := fleet.ReadPlan(c.folder)
	if err != nil {
		return err
	}
	_, there := plan.Slice(number)
	return c.Actions.Output("idle", strconv.FormatBool(!there))
}

func (c *exchangeCommand) drop(ctx context.Context, refs *git.FileRefs) error {
	name, err := c.fleet()
	if err != nil {
		return err
	}
	dropped, err := fleet.Drop(ctx, refs, name)
	if err != nil {
		return err
	}
	return c.tell("Deleted %s of %s.", text.Count(dropped, "reference"), attemptOf(name))
}

// attemptOf returns the attempt of a fleet as people are told it.
func attemptOf(name fleet.Name) string {
	if name.Run == "" {
		return fmt.Sprintf("attempt %d of a run without --owner", name.Attempt)
	}
	return fmt.Sprintf("attempt %d of run %s", name.Attempt, name.Run)
}

func (c *exchangeCommand) tell(format string, args ...any) error {
	_, err := fmt.Fprintf(c.Stdout, format+"\n", args...)
	return err
}

// warn prints an error that does not fail the command, as an annotation inside Actions.
func (c *exchangeCommand) warn(title string, err error) {
	c.Actions.Warning(title, c.redactor.String(err.Error()))
}

func (c *exchangeCommand) fleet() (fleet.Name, error) {
	own, number := c.Owner(), 1
	if c.Actions.InActions() {
		number = own.Attempt
	}
	plan, err := fleet.ParsePlanName(c.plan)
	name := fleet.Name{Run: cmp.Or(c.run, own.Run), Attempt: cmp.Or(c.attempt, number), Plan: plan}
	switch {
	case name.Run == "" && c.plan == "":
		err = fmt.Errorf("%w: --run is missing: write what --owner of symphony plan was, or without one --plan and the name that push printed", wiring.ErrUsage)
	case name.Attempt < 1:
		err = fmt.Errorf("%w: --attempt is %d: the first is 1", wiring.ErrUsage, name.Attempt)
	case err != nil:
		err = fmt.Errorf("%w: --plan is wrong: %w", wiring.ErrUsage, err)
	}
	return name, err
}
