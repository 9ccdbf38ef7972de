package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/trial"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// trialCommand plays the path of one issue in the repository of this job, with the scripted
// agent and without a key of a model; see package trial.
type trialCommand struct {
	*app
	cached string // the flag --cached
}

func (t *trialCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "trial",
		Short:             "Play the path of an issue in the repository of this job, and say what GitHub does",
		Long:              "Play the path of an issue in the repository of this job, with the scripted agent, and say for each behavior of GitHub that the program relies on whether it is so here.",
		Example:           "symphony trial # in a job of GitHub Actions",
		Hidden:            true,
		Args:              argumentsUpTo(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return t.Run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&t.cached, "cached", "", "whether the workflow found again what it saved in the cache: `true` or false")
	return cmd
}

// trialTick bounds one tick of the trial.
const trialTick = 5 * time.Minute

// Run plays all parts, and removes everything that they made.
func (t *trialCommand) Run(ctx context.Context) error {
	if !t.Actions.InActions() {
		return fmt.Errorf("%w: trial: it writes to the repository of a job: run it by a workflow that symphony init --trial writes", wiring.ErrUsage)
	}
	played, err := t.open()
	if err != nil {
		return err
	}
	if err := played.Prepare(ctx); err != nil {
		return err
	}
	failed := played.Play(ctx)
	if err := played.Clean(context.WithoutCancel(ctx)); err != nil {
		failed++
		t.say(trial.No, "what the trial made can be removed", err.Error())
	}
	fmt.Fprintf(t.Stdout, "The issue and the pull request of the trial stay, closed: nobody but an administrator can delete an issue.\n")
	if failed > 0 {
		return fmt.Errorf("GitHub did not do here what the program relies on, in %d parts of the trial: the list above says which", failed)
	}
	return nil
}

// open returns the trial of this job, in a folder of its own.
func (t *trialCommand) open() (*trial.Trial, error) {
	env := t.Value
	repository := env("GITHUB_REPOSITORY")
	owner, _, _ := strings.Cut(repository, "/")
	open := func(variable string) (*client.Client, error) {
		c, err := client.New(client.Config{Repo: repository, APIURL: env("GITHUB_API_URL"), Token: env(variable), Names: client.Names{Token: variable}}, nil)
		if err != nil {
			return nil, fmt.Errorf("%w: trial: %w", wiring.ErrUsage, err)
		}
		return c, nil
	}
	job, err := open("GITHUB_TOKEN")
	if err != nil {
		return nil, err
	}
	var person *client.Client
	if env(trial.PersonVariable) != "" {
		if person, err = open(trial.PersonVariable); err != nil {
			return nil, err
		}
	}
	folder, err := os.MkdirTemp(cmp.Or(env("RUNNER_TEMP"), t.TempDir()), "symphony-trial-")
	if err != nil {
		return nil, err
	}
	program, err := lastingProgram(folder)
	if err != nil {
		return nil, err
	}
	played := &trial.Trial{
		GitHub: job, Person: person, Owner: owner, Name: "symphony-trial-" + env("GITHUB_RUN_ID") + "-" + env("GITHUB_RUN_ATTEMPT"),
		Folder: folder, Agent: scriptedAgent(program, folder), Actor: env("GITHUB_ACTOR"), Job: env("GITHUB_JOB"), Cached: t.cached == "true", Say: t.say,
	}
	played.Tick = func(ctx context.Context) error { return t.tick(ctx, played) }
	return played, nil
}

// tick performs one tick of a trial. Its report is in the log.
func (t *trialCommand) tick(ctx context.Context, played *trial.Trial) error {
	inner := *t.app
	inner.state, inner.warnings, inner.reported = "branch:"+played.Name+"-state", nil, false
	tick := &tickCommand{app: &inner, tickOptions: tickOptions{once: true, failOn: failParked, deadline: trialTick}}
	err := tick.perform(ctx, filepath.Join(played.Folder, trial.WorkflowFile))
	if errors.Is(err, errFailOn) {
		return fmt.Errorf("%w: %w", trial.ErrWaits, err)
	}
	return err
}

func (t *trialCommand) say(verdict trial.Verdict, expected, why string) {
	line := fmt.Sprintf("%-9s  %s", verdict, expected)
	if why != "" {
		line += ": " + oneLine(t.redactor.String(why))
	}
	fmt.Fprintln(t.Stdout, line)
	if verdict == trial.No {
		t.Actions.Warning("The trial found a difference", expected+": "+t.redactor.String(why))
	}
}
