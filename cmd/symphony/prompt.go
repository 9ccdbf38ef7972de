package main

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/tracker"
)

// promptCommand prints the prompt of an issue. It changes nothing.
type promptCommand struct{ *app }

func (p *promptCommand) command() *cobra.Command {
	return &cobra.Command{
		Use:   "prompt ID [path-to-WORKFLOW.md]",
		Short: "Print the prompt that a session on an issue would get now",
		Long: `Print the prompt that a session on an issue would get now, in a new workspace and a new thread: the template of WORKFLOW.md with the issue, and what the program itself says before and after it, such as the branch, why work was refused, and what was said about it since.

Control characters and secrets are left out.

The template is Liquid. Its filters: ` + strings.Join(prompt.Filters(), ", ") + ".",
		Example:           "symphony prompt GH-7\nsymphony --state branch:symphony-state prompt GH-7 # with the state of the Action",
		Annotations:       ofWorkflow(),
		Args:              argumentsFrom(1, 2, issueOf("prompt")),
		ValidArgsFunction: completer{p.app}.issueAndWorkflow(startedOrToDo),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.Run(cmd.Context(), args[0], args[1:]) },
	}
}

// Run prints the prompt of the issue that a person means by a name.
func (p *promptCommand) Run(ctx context.Context, name string, args []string) error {
	r, wf, err := p.planner(args)
	if err != nil {
		return err
	}
	var repository *runner.Repository
	if wf.Settings.Repository != nil {
		folder, err := p.MakeTempFolder("symphony-prompt-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		if repository, err = p.opener().RepositoryIn(ctx, folder, wf, r.Log); err != nil {
			return err
		}
	}
	issue, s, err := r.Prompt(ctx, repository, func(tick report.Tick) (tracker.Issue, error) {
		verdict, err := (&explainCommand{app: p.app}).find(ctx, wf, name, tick, r.Log)
		return verdict.Issue, err
	})
	if err != nil {
		return err
	}
	return p.print(issuePrompt{Issue: issue.Identifier, Prompt: text.Lines(s)})
}

// issuePrompt is the prompt of an issue as it is printed.
type issuePrompt struct {
	Issue  string `json:"issue_identifier"`
	Prompt string `json:"prompt"`
}

// Text returns the prompt, which is not wrapped.
func (p issuePrompt) Text(int) string { return p.Prompt + "\n" }
