package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/shell"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// completionCommand prints the script with which a shell completes command lines of the
// program: commands, flags, their values, and issues.
type completionCommand struct{ *app }

func (c *completionCommand) command() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print a script with which your shell completes commands, flags and issues",
		Long: `Print a script with which your shell completes commands, flags, their values and issues.

Issues come from the state and the tracker where both are files on this machine: a key
that you press sends no request.`,
		Example: `source <(symphony completion bash) # in this shell; in ~/.bashrc, in every one
symphony completion zsh >"${fpath[1]}/_symphony" # zsh
symphony completion fish >~/.config/fish/completions/symphony.fish # fish`,
		Args:      argumentsFrom(1, 1, "write bash, zsh or fish"),
		ValidArgs: []cobra.Completion{"bash", "zsh", "fish"},
		RunE:      func(cmd *cobra.Command, args []string) error { return c.Run(cmd.Root(), args[0]) },
	}
}

// bashAlone follows the script for bash: cobra's script needs the package bash-completion,
// which a small system and macOS lack.
//
//go:embed completion.bash
var bashAlone string

// Run prints the script of a shell.
func (c *completionCommand) Run(root *cobra.Command, shell string) error {
	switch shell {
	case "bash":
		if err := root.GenBashCompletionV2(c.Stdout, true); err != nil {
			return err
		}
		_, err := io.WriteString(c.Stdout, bashAlone)
		return err
	case "zsh":
		return root.GenZshCompletion(c.Stdout)
	case "fish":
		return root.GenFishCompletion(c.Stdout, true)
	}
	return fmt.Errorf("%w: shell %q: want bash, zsh or fish", wiring.ErrUsage, shell)
}

// completer completes command lines from the files of this machine.
type completer struct{ *app }

// flags sets the completion of the values of flags, for the command and all below it. A flag
// that is not in the table and has no completion yet takes no name of a file.
func (c completer) flags(cmd *cobra.Command) {
	words := func(words ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	file := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	folder := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	known := map[string]cobra.CompletionFunc{
		"log-format": words("text", "json"),
		"fail-on":    words(failNever, failFailed, failParked),
		"command":    words(feedback.Commands()...),
		"issue":      c.issue(startedOrToDo),
		"state":      cobra.FixedCompletions([]cobra.Completion{"file:", "branch:", "cache:"}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace),
		"report":     file,
		"output":     file,
		"logs":       folder,
		"exchange":   folder,
		"home":       folder,
	}
	isAsked := len(c.Args) > 0 && c.Args[0] == cobra.ShellCompRequestCmd
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if isAsked {
			f.Usage = strings.ReplaceAll(f.Usage, "`", "") // these mark the name of the value in help alone
		}
		if _, set := cmd.GetFlagCompletionFunc(f.Name); set {
			return
		}
		complete := known[f.Name]
		if complete == nil {
			complete = words()
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err) // there is no such flag
		}
	})
	for _, sub := range cmd.Commands() {
		c.flags(sub)
	}
}

// completeWorkflow completes the path of a WORKFLOW.md. Where the word can become a command
// it completes nothing: a shell would take the commands for endings of files.
func completeWorkflow(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	canBeCommand := func(sub *cobra.Command) bool {
		return sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), prefix)
	}
	if len(args) > 0 || slices.ContainsFunc(cmd.Commands(), canBeCommand) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []cobra.Completion{"md"}, cobra.ShellCompDirectiveFilterFileExt
}

// issue returns the completion of the name of an issue of a kind.
func (c completer) issue(wanted int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return c.issues(cmd.Context(), wanted), cobra.ShellCompDirectiveNoFileComp
	}
}

// issueAndWorkflow returns the completion of the name of an issue of a kind, and after it of the
// path of a WORKFLOW.md.
func (c completer) issueAndWorkflow(wanted int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return completeWorkflow(cmd, args[1:], prefix)
		}
		return c.issue(wanted)(cmd, args, prefix)
	}
}

// maxLookup bounds the time that a person waits for the completion of an issue.
const maxLookup = time.Second

// The issues that a command takes.
const (
	claimedIssues = iota // issues with a claim
	knownIssues          // also issues with a delivery
	startedOrToDo        // issues with a claim, and the candidates
)

// issues returns the identifiers of the issues that a command takes, with their titles. It
// reads only files of this machine. Issues that would need a request, or that cannot be read,
// are left out.
func (c completer) issues(ctx context.Context, wanted int) []cobra.Completion {
	ctx, cancel := context.WithTimeout(ctx, maxLookup)
	defer cancel()
	found := completions{c.redactor.String, map[string]string{}}
	kept, wf, err := (&stateCommand{app: c.app}).stateHere(wiring.StateReadOnly)
	if isLocal := !strings.HasPrefix(c.state, "branch:"); err == nil && isLocal {
		state, _, err := kept.Load(ctx)
		if err != nil {
			state = new(schedule.State)
		}
		if wanted == knownIssues {
			for _, d := range state.Deliveries {
				found.add(d.Identifier, d.Branch)
			}
		}
		for _, claim := range state.Claims {
			found.add(claim.Identifier, claim.Title)
		}
	}
	if wanted == startedOrToDo && wiring.IssueFolder(wf) != "" {
		if adapter, err := c.opener().Tracker(wf, quiet(), true); err == nil {
			issues, _ := adapter.IssuesByState(ctx, wf.Settings.Policy.ActiveStates) // none without an answer
			for _, issue := range issues {
				found.add(issue.Identifier, issue.Title)
			}
		}
	}
	return found.sorted()
}

// completions are names of issues with a description of each.
type completions struct {
	redact func(string) string
	about  map[string]string
}

// add adds a name, unless it would be more than a word of a command line.
func (c completions) add(name, about string) {
	if shell.IsPlain(name) && !strings.HasPrefix(name, "-") {
		whole := text.OneLine(about, len(about)) // half a secret is not found
		c.about[name] = text.OneLine(c.redact(whole), 60)
	}
}

func (c completions) sorted() []cobra.Completion {
	var found []cobra.Completion
	for _, name := range slices.Sorted(maps.Keys(c.about)) {
		if about := c.about[name]; about != "" {
			name = cobra.CompletionWithDesc(name, about)
		}
		found = append(found, name)
	}
	return found
}

// takeWorkflow makes the path of a WORKFLOW.md the only argument of a command.
func takeWorkflow(cmd *cobra.Command) {
	cmd.Annotations, cmd.Args, cmd.ValidArgsFunction = ofWorkflow(), argumentsUpTo(1), completeWorkflow
}
