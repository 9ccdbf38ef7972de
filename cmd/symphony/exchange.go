package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
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

	pause time.Duration // before a remote that is unavailable is asked again; 0 for two seconds
}

// handOverTries is how often a remote is asked that is unavailable.
const handOverTries = 3

func (c *exchangeCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exchange",
		Short: "Carry the exchange folder of a fleet over the repository",
		Long: `Exchange carries the plan and the results of a fleet from machine to machine over
references of the repository, below refs/symphony/fleet/. It is for engines that have
nothing else for it, such as servers without artifacts. A reference is created once and
never moved. Who can read the repository can read it until it is dropped.

Inside GitHub Actions it is the repository of the job, with its GITHUB_TOKEN; elsewhere
that of the section repository of WORKFLOW.md.`,
		Example:     "symphony exchange push --exchange exchange",
		Annotations: ofWorkflow(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return fmt.Errorf("%w: say what to do: push, pull or drop", errUsage)
		},
	}
	push := &cobra.Command{
		Use:   "push --exchange FOLDER [flags] [path-to-WORKFLOW.md]",
		Short: "Push the plan, or the result of a shard",
		Long: `Push the plan of the exchange folder, or with --shard the result of this shard. To repeat
it with the same files changes nothing. With the plan it deletes references of fleets that
ended more than a week ago without dropping them.`,
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
	pull.Flags().BoolVar(&c.results, "results", false, "fetch the results too; then it is no error if there is nothing")
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

// addRun adds the flags that name a fleet.
func (c *exchangeCommand) addRun(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.run, "run", "", "the `id` of the run, --owner of plan (default: inside Actions the workflow run)")
	cmd.Flags().IntVar(&c.attempt, "attempt", 0, "which attempt of the run (default: inside Actions that of the workflow run, else 1)")
}

// runOf returns the function of a subcommand that opens the references and does something
// with them. It is tried again if the remote is unavailable.
func (c *exchangeCommand) runOf(do func(ctx context.Context, refs *git.FileRefs) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if cmd.Flag("exchange") != nil {
			if err := checkExchange(&c.folder); err != nil {
				return err
			}
		}
		path, err := workflowPath(args)
		if err != nil {
			return err
		}
		wf, err := c.workflows(path).Current()
		if err != nil {
			return err
		}
		c.addWorkflowSecrets(wf)
		refs, err := c.openFileRefs(ctx, wf)
		if err != nil {
			return err
		}
		defer refs.Close()
		for try := 1; ; try++ {
			err := do(ctx, refs)
			if !errors.Is(err, git.ErrUnavailable) || try == handOverTries {
				return err
			}
			fmt.Fprintf(c.stderr, "symphony: tried again: %s\n", c.redactor.String(err.Error()))
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(cmp.Or(c.pause, 2*time.Second)):
			}
		}
	}
}

// push pushes the plan or a result.
func (c *exchangeCommand) push(ctx context.Context, refs *git.FileRefs) error {
	plan, err := fleet.ReadPlan(c.folder)
	if err != nil {
		return err
	}
	var ref fleet.Reference
	var files map[string][]byte
	if c.shard == "" {
		ref, files, err = fleet.PlanFiles(c.folder)
	} else {
		number, err := shardNumber(c.shard)
		if err != nil {
			return err
		}
		slice, there := plan.Slice(number)
		if !there {
			return c.tell("Nothing to hand over: %s.", planHasNo(plan, number))
		}
		ref, files, err = fleet.ResultFiles(c.folder, slice)
		if err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	name, err := git.ParseFileRef(ref.String())
	if err == nil {
		err = refs.Push(ctx, name, files)
	}
	if err != nil {
		return err
	}
	if c.shard == "" {
		if err := dropOld(ctx, refs, time.Now()); err != nil {
			c.warn("References of old fleets are left", err)
		}
	}
	return c.tell("Pushed %s.", ref)
}

// pull fetches the plan and the results of a fleet.
func (c *exchangeCommand) pull(ctx context.Context, refs *git.FileRefs) error {
	run, attempt, err := c.fleet()
	if err != nil {
		return err
	}
	pulled, refused, err := pullFleet(ctx, refs, c.folder, run, attempt, c.results)
	for _, err := range refused {
		c.warn("A result does not count", err)
	}
	switch {
	case err != nil:
		return err
	case pulled == 0 && c.results:
		return c.tell("Nothing was handed over by attempt %d of run %s.", attempt, run)
	case pulled == 0:
		return fmt.Errorf("pull the plan: %w: there is none of attempt %d of run %s: push it after symphony plan, and name its run with --run", fleet.ErrUnreadable, attempt, run)
	}
	if err := c.tellIdle(); err != nil {
		return err
	}
	return c.tell("Took %s of attempt %d of run %s.", count(pulled, "reference"), attempt, run)
}

// tellIdle sets the output that says whether the job has anything to install, if the flag is
// given.
func (c *exchangeCommand) tellIdle() error {
	if c.shard == "" || !c.actions.InActions() {
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
	return c.actions.Output("idle", strconv.FormatBool(!there))
}

// drop deletes the references of a fleet.
func (c *exchangeCommand) drop(ctx context.Context, refs *git.FileRefs) error {
	run, attempt, err := c.fleet()
	if err != nil {
		return err
	}
	all, err := listReferences(ctx, refs, fleet.AttemptReferences(run, attempt))
	if err == nil {
		err = deleteReferences(ctx, refs, all)
	}
	if err != nil {
		return err
	}
	return c.tell("Deleted %s of attempt %d of run %s.", count(len(all), "reference"), attempt, run)
}

// tell prints a line.
func (c *exchangeCommand) tell(format string, args ...any) error {
	_, err := fmt.Fprintf(c.stdout, format+"\n", args...)
	return err
}

// warn prints what does not fail the command, as an annotation inside Actions.
func (c *exchangeCommand) warn(title string, err error) {
	c.actions.Warning(title, c.redactor.String(err.Error()))
}

// fleet returns the run and the attempt of the fleet.
func (c *exchangeCommand) fleet() (run string, attempt int, err error) {
	own, number := c.owner(), 1
	if c.actions.InActions() {
		number = own.Attempt
	}
	run, attempt = cmp.Or(c.run, own.Run), cmp.Or(c.attempt, number)
	switch {
	case run == "":
		return "", 0, fmt.Errorf("%w: --run is missing: write what --owner of symphony plan was", errUsage)
	case attempt < 1:
		return "", 0, fmt.Errorf("%w: --attempt is %d: the first is 1", errUsage, attempt)
	}
	return run, attempt, nil
}

// openFileRefs opens the references over which the fleets of a workflow exchange files.
// Close them.
func (a *app) openFileRefs(ctx context.Context, wf workflow.Workflow) (*git.FileRefs, error) {
	remote, err := a.exchangeRemote(wf)
	if err != nil {
		return nil, err
	}
	if err := makeDataFolder(wf.Path); err != nil {
		return nil, err
	}
	host, err := git.Open(ctx, git.Config{
		Dir: filepath.Join(dataFolder(wf.Path), "repositories"), Workspaces: wf.Settings.Workspace.Root, Env: a.environ, Log: quiet(),
	})
	if err != nil {
		return nil, err
	}
	return host.FileRefs(remote)
}

// exchangeRemote returns the repository over which the fleets of a workflow exchange files:
// inside Actions that of the job, because everybody who can read it can see its issues;
// elsewhere the one that is delivered to, or the one that has the state branch.
func (a *app) exchangeRemote(wf workflow.Workflow) (git.Remote, error) {
	token, _ := a.getenv("GITHUB_TOKEN")
	if own := a.ownURL(); a.actions.InActions() && own != "" && token != "" {
		return git.ParseRemote(own, git.Token(token))
	}
	if r := wf.Settings.Repository; r != nil {
		remote, err := git.ParseRemote(r.Remote, git.Token(r.Token))
		if err != nil {
			return git.Remote{}, err
		}
		tokens, err := a.repositoryToken(wf, quiet())
		if err == nil && tokens != nil {
			remote = remote.WithTokens(gitTokens(tokens))
		}
		return remote, err
	}
	if repo := a.ownRepository(wf.Path, wf); repo != "" && token != "" {
		server, _ := a.getenv("GITHUB_SERVER_URL")
		return git.ParseRemote(cmp.Or(server, "https://github.com")+"/"+repo, git.Token(token))
	}
	return git.Remote{}, fmt.Errorf("%w: there is no repository for the exchange: write the section repository in %s, or export GITHUB_REPOSITORY=OWNER/NAME and GITHUB_TOKEN",
		errUsage, filepath.Base(wf.Path))
}

// listReferences returns the references of fleets in a folder of the remote. It skips names
// that are none.
func listReferences(ctx context.Context, refs *git.FileRefs, folder string) ([]fleet.Reference, error) {
	name, err := git.ParseFileRef(folder)
	if err != nil {
		return nil, err
	}
	names, err := refs.List(ctx, name)
	var found []fleet.Reference
	for _, name := range names {
		if r, ok := fleet.ParseReference(name.String()); ok {
			found = append(found, r)
		}
	}
	return found, err
}

// gitNames returns the names of references for git.
func gitNames(all []fleet.Reference) ([]git.FileRef, error) {
	names := make([]git.FileRef, 0, len(all))
	for _, r := range all {
		name, err := git.ParseFileRef(r.String())
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

func deleteReferences(ctx context.Context, refs *git.FileRefs, all []fleet.Reference) error {
	names, err := gitNames(all)
	if err != nil {
		return err
	}
	return refs.Delete(ctx, names...)
}

// oldFleet is the age from which on nobody needs the references of a fleet any more.
const oldFleet = schedule.MaxShardTime + 24*time.Hour

// dropOld deletes the references of old fleets.
func dropOld(ctx context.Context, refs *git.FileRefs, now time.Time) error {
	all, err := listReferences(ctx, refs, fleet.ReferencesFolder)
	if err != nil {
		return err
	}
	return deleteReferences(ctx, refs, slices.DeleteFunc(all, func(r fleet.Reference) bool {
		return now.Sub(time.UnixMilli(r.Started)) < oldFleet
	}))
}

// pullFleet fetches the plan of an attempt of a run into an exchange folder, and with results
// the results of its shards. It returns the number of references that it took, none if there
// is no plan, and why results cannot be used.
func pullFleet(ctx context.Context, refs *git.FileRefs, folder, run string, attempt int, results bool) (pulled int, refused []error, err error) {
	all, err := listReferences(ctx, refs, fleet.AttemptReferences(run, attempt))
	if err != nil {
		return 0, nil, err
	}
	ref, of, ok := fleet.Latest(all)
	if !ok {
		return 0, nil, nil
	}
	var plan fleet.Plan
	if err := readReferences(ctx, refs, []fleet.Reference{ref}, func(_ fleet.Reference, files map[string][]byte, err error) error {
		if err == nil {
			plan, err = fleet.StorePlan(folder, ref, files)
		}
		return err
	}); err != nil || !results {
		return 1, nil, err
	}
	of = slices.DeleteFunc(of, func(r fleet.Reference) bool { _, ok := plan.Slice(r.Shard); return !ok })
	pulled = 1
	err = readReferences(ctx, refs, of, func(r fleet.Reference, files map[string][]byte, err error) error {
		if err != nil {
			refused = append(refused, err)
			return nil
		}
		pulled++
		return fleet.StoreResult(folder, r, files)
	})
	return pulled, refused, err
}

// readReferences calls take with the files of each reference, or why they cannot be used.
func readReferences(ctx context.Context, refs *git.FileRefs, all []fleet.Reference, take func(fleet.Reference, map[string][]byte, error) error) error {
	names, err := gitNames(all)
	if err != nil {
		return err
	}
	limit := func(name git.FileRef, path string) int64 {
		r, _ := fleet.ParseReference(name.String())
		return r.FileLimit(path)
	}
	return refs.Read(ctx, names, limit, func(files git.RefFiles) error {
		r, _ := fleet.ParseReference(files.Ref.String())
		return take(r, files.Files, files.Err)
	})
}
