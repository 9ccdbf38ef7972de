package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// planCommand performs the first part of a fleet's tick: it claims issues for shards.
type planCommand struct {
	*app
	tickOptions
	exchange string // a folder
	shards   int
	slots    int
	limit    time.Duration // time from the start of a shard until it has ended its sessions
	runsOn   string        // labels of the default runner: one, or a list in JSON
	id       string        // id of the run outside Actions
	attempt  int           // attempt of that run

	made fleet.Plan
}

// queueTime bounds the wait of a shard for its runner. It counts only where the program cannot
// ask whether a shard has started.
const queueTime = time.Hour

func (c *planCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan --exchange FOLDER [flags] [path-to-WORKFLOW.md]",
		Short: "Claim issues for the shards of a fleet, and print their matrix",
		Long: `Plan is the first of the three parts of a tick that runs on many machines. It reads the
tracker, claims issues for shards in one save, and writes plan.json into the exchange
folder. Start "symphony work" once for each shard that it prints, and "symphony collect"
when all have ended. agent.max_concurrent_agents neither limits nor counts the sessions
of a fleet; --shards and --shard-slots limit those of all its plans together.

Outside GitHub Actions nobody can be asked whether a shard works. There its issues are
taken over an hour and --shard-deadline after the plan; a shard that starts too late for
that works less, or not at all.`,
		Example: `symphony plan --exchange exchange --state branch:symphony-state
symphony plan --exchange exchange --shards 4 --shard-slots 1`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.Run(cmd.Context(), args) },
	}
	takeWorkflow(cmd)
	flags := cmd.Flags()
	addExchange(cmd, &c.exchange)
	flags.IntVar(&c.shards, "shards", 16, fmt.Sprintf("shards at most (1 to %d)", schedule.MaxShards))
	flags.IntVar(&c.slots, "shard-slots", 2, fmt.Sprintf("issues of each shard at most (1 to %d)", schedule.MaxSlots))
	flags.DurationVar(&c.limit, "shard-deadline", 5*time.Hour, "a shard has ended its sessions this much time after its start")
	flags.StringVar(&c.runsOn, "runs-on", "ubuntu-latest", "`labels` of the usual runner: one, or a list in JSON")
	flags.StringVar(&c.id, "owner", "", "the `id` of this run, by which people know its shards (default: inside Actions the workflow run)")
	flags.IntVar(&c.attempt, "attempt", 1, "which attempt of --owner this is")
	flags.DurationVar(&c.deadline, "deadline", 0, "stop gracefully before this much time has passed")
	flags.IntVar(&c.maxIssues, "max-issues", 0, "start at most this many issues (0: as many as there is room for)")
	c.addReportFlags(flags)
	c.order.addFlags(flags)
	return cmd
}

// Run checks the flags and performs the plan of the workflow that args name.
func (c *planCommand) Run(ctx context.Context, args []string) error {
	c.once, c.failOn = true, failNever
	if err := c.checkFlags(); err != nil {
		return err
	}
	path, err := c.check(c.Process, args)
	if err != nil {
		return err
	}
	run, err := openTick(c.app, path, c.tickOptions, opening{noLogin: true, bind: schedule.Fleet{Shards: c.shards, Slots: c.slots}.Bind})
	if err != nil {
		return err
	}
	defer run.close()
	c.prepare(run.Runner, run.wf)
	tick, err := run.perform(ctx, func(ctx context.Context) (tick report.Tick, err error) {
		c.made, tick, err = run.Assign(ctx)
		return tick, err
	})
	if nothingDone(tick, &err) {
		return err
	}
	tick = run.complete(tick, err, false)
	outputs := append(run.outputs(tick), c.shardOutputs(run.event, run.wf)...)
	return run.conclude(tick, err, errors.Join(
		c.write(tick), run.writeReport(tick), run.writeMetrics(tick), run.publish(tick, err != nil || tick.Assigned.Issues == 0, outputs)))
}

// checkFlags returns an error for flags out of range. It makes the exchange folder absolute.
func (c *planCommand) checkFlags() error {
	switch {
	case c.shards < 1 || c.shards > schedule.MaxShards:
		return fmt.Errorf("%w: %s is %d: want 1 to %d", wiring.ErrUsage, c.Option("shards"), c.shards, schedule.MaxShards)
	case c.slots < 1 || c.slots > schedule.MaxSlots:
		return fmt.Errorf("%w: %s is %d: want 1 to %d", wiring.ErrUsage, c.Option("shard-slots"), c.slots, schedule.MaxSlots)
	case c.limit < time.Minute || c.limit > schedule.MaxShardTime-queueTime:
		return fmt.Errorf("%w: %s is %v: want at least a minute, and less than a week", wiring.ErrUsage, c.Option("shard-deadline"), c.limit)
	case c.attempt < 1:
		return fmt.Errorf("%w: --attempt is %d: the first is 1", wiring.ErrUsage, c.attempt)
	}
	if err := store.CheckOwner(schedule.Owner{Run: c.id, Attempt: c.attempt}); err != nil {
		return fmt.Errorf("%w: --owner and --attempt: %w", wiring.ErrUsage, err)
	}
	if _, err := runnerLabels(c.runsOn); err != nil {
		return fmt.Errorf("%w: %s is %q: %w", wiring.ErrUsage, c.Option("runs-on"), c.runsOn, err)
	}
	if err := checkExchange(&c.exchange); err != nil {
		return err
	}
	if err := fleet.Prepare(c.exchange); err != nil {
		return fmt.Errorf("%w: --exchange: %w", wiring.ErrUsage, err)
	}
	return nil
}

func (c *planCommand) prepare(r *runner.Runner, wf workflow.Workflow) {
	owner := schedule.Owner{Run: r.Self.Run, Attempt: r.Self.Attempt, Started: r.Self.Started, Limit: int64(c.limit.Seconds())}
	if owner.Run == "" { // the host name marks the run as one that GitHub does not know
		owner.Run, owner.Attempt, owner.Host = c.id, c.attempt, r.Self.Host
	}
	event, _ := c.Actions.Event() // it lacks the payload if that cannot be read
	r.Fleet = &schedule.Fleet{Owner: owner, Name: event.File, Shards: c.shards, Slots: c.slots, Lease: c.limit + queueTime, RunsOn: wf.Settings.RunsOn}
	r.Login, r.Test = nil, wiring.TestMachine(c.Process) // only shards have the login of the agent
	if c.Value("SYMPHONY_ACTS_AS_JOB") == "true" && c.shards >= needToken {
		c.warn(fmt.Sprintf("%s is %d: such a fleet can need more than the 1,000 requests an hour of the job's own token: "+
			"set SYMPHONY_GITHUB_TOKEN, the input github-token, to that of a GitHub App", c.Option("shards"), c.shards))
	}
}

// needToken is the number of shards from which on the requests of one fleet can be more
// than those that the job's own token has in an hour; see .github/BENCHMARKS.md.
const needToken = 64

// write writes the plan into the exchange folder. Outside Actions it prints the matrix.
// Inside Actions it writes the annotations of a plan that starts shards, because the report
// of collect does not repeat them.
func (c *planCommand) write(tick report.Tick) error {
	if c.made.Owner == (schedule.Owner{}) {
		return nil // the tick failed
	}
	err := fleet.WritePlan(c.exchange, wiring.Redacted(c.made, c.redactor)) // others can read it
	if c.Actions.InActions() && tick.Assigned.Issues > 0 {
		annotate(c.Actions, report.Of(tick))
	}
	if err == nil && !c.Actions.InActions() {
		_, err = fmt.Fprintln(c.Stdout, c.matrix())
	}
	return err
}

// shardJob is an entry of the matrix of a workflow. Everybody can read the matrix, so an
// entry does not name issues.
type shardJob struct {
	Shard  int      `json:"shard"`
	RunsOn []string `json:"runs_on"`
}

func (c *planCommand) matrix() string {
	usual, _ := runnerLabels(c.runsOn)
	jobs := make([]shardJob, 0, len(c.made.Shards))
	for _, s := range c.made.Shards {
		job := shardJob{s.Number, s.RunsOn}
		if len(job.RunsOn) == 0 {
			job.RunsOn = usual
		}
		jobs = append(jobs, job)
	}
	text, err := json.Marshal(map[string]any{"include": jobs})
	if err != nil {
		return "" // there is nothing in it that cannot be encoded
	}
	return string(text)
}

// shardOutputs returns the outputs for the jobs of the shards. After a plan that failed, they
// say nothing: it may have claimed issues, and then collect gives them back.
func (c *planCommand) shardOutputs(event action.Event, wf workflow.Workflow) [][2]string {
	if c.made.Owner == (schedule.Owner{}) {
		return [][2]string{{"codex", ""}, {"sandbox", ""}, {"private", ""}, {"prepares", ""}, {"work", ""}, {"matrix", ""}, {"attempt", ""}}
	}
	works := len(c.made.Shards) > 0
	return append(needs(c.gitHub(), event, wf, !c.order.stops(), works),
		[2]string{"work", strconv.FormatBool(works)},
		[2]string{"matrix", c.matrix()},
		[2]string{"attempt", strconv.Itoa(c.made.Owner.Attempt)})
}

func runnerLabels(text string) ([]string, error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "[") {
		if text == "" {
			return nil, fmt.Errorf("write the label of a runner, such as ubuntu-latest")
		}
		return []string{text}, nil
	}
	var labels []string
	if err := json.Unmarshal([]byte(text), &labels); err != nil || len(labels) == 0 {
		return nil, fmt.Errorf(`write a label, or a list such as ["self-hosted", "gpu"]`)
	}
	return labels, nil
}

func addExchange(cmd *cobra.Command, folder *string) {
	cmd.Flags().StringVar(folder, "exchange", "", "the `folder` of the plan and the results, which the engine carries from job to job")
}

// checkExchange makes the path of the exchange folder absolute.
func checkExchange(folder *string) (err error) {
	if *folder == "" {
		return fmt.Errorf("%w: --exchange is missing: name the folder of the plan and the results", wiring.ErrUsage)
	}
	*folder, err = filepath.Abs(*folder)
	return err
}
