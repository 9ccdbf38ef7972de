package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/shell"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/lookup"
	"github.com/symphony-runner/symphony/runner/terminal"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// shellCommand runs a command of a person, or a shell, in the room of an issue's agent.
type shellCommand struct{ *app }

func (s *shellCommand) command() *cobra.Command {
	return &cobra.Command{
		Use:   "shell ID [path-to-WORKFLOW.md] [-- COMMAND…]",
		Short: "Open a shell in the workspace of an issue, in the sandbox of its agent",
		Long: `Open a shell in the workspace of an issue, in the sandbox and with the environment that the commands of its agent get, so that you see what the agent sees. With a COMMAND run that, without input, and exit with its status.

What you change in the workspace stays there: the next session goes on with it, and may publish it. No session works there while the shell is open.`,
		Example:     "symphony shell GH-7\nsymphony shell GH-7 -- npm test\nsymphony shell GH-7 -- bash -c 'npm start & sleep 2; curl -s localhost:3000'",
		Annotations: ofWorkflow(),
		Args: func(cmd *cobra.Command, args []string) error {
			own, _ := s.split(cmd, args)
			return argumentsFrom(1, 2, issueOf("shell"))(cmd, own)
		},
		ValidArgsFunction: s.completeClaimed,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, command := s.split(cmd, args)
			return s.Run(cmd.Context(), own[0], own[1:], command)
		},
	}
}

// split returns the arguments of the program, and the command behind the dashes.
func (s *shellCommand) split(cmd *cobra.Command, args []string) (own, command []string) {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		return args[:dash], args[dash:]
	}
	return args, nil
}

// completeClaimed completes the name of an issue that has a claim, and after it the path of a
// WORKFLOW.md.
func (s *shellCommand) completeClaimed(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if cmd.ArgsLenAtDash() >= 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return completer{s.app}.issueAndWorkflow(claimedIssues)(cmd, args, prefix)
}

// Run runs a command in the room of the issue that a person means by a name, or a shell if the
// command is empty.
func (s *shellCommand) Run(ctx context.Context, name string, args, command []string) error {
	if s.Actions.InActions() {
		return fmt.Errorf("%w: shell: the log of Actions obeys what programs print: run it on your machine", wiring.ErrUsage)
	}
	visitor := attempt.Visitor{Command: command, Stdout: s.Stdout, Stderr: s.Stderr}
	var keys *os.File
	if len(command) == 0 {
		screen, isFile := underlying(s.Stdout).(*os.File)
		in, isInput := s.Stdin.(*os.File)
		if !isFile || !isInput || !terminal.Is(in) || !terminal.Is(screen) {
			return fmt.Errorf("%w: shell: there is no terminal here: write a command, as in: symphony shell %s -- npm test", wiring.ErrUsage, shell.Word(name))
		}
		columns, rows := terminal.Size(screen)
		keys, visitor.Terminal = in, &codex.Terminal{Size: codex.Size{Columns: max(columns, 1), Rows: max(rows, 1)}, Keys: in}
	}
	_, wf, err := s.workflow(args)
	if err != nil {
		return err
	}
	if len(wf.Settings.Worker.Hosts) > 0 {
		return fmt.Errorf("%w: shell: the workspaces are on the hosts of worker.ssh_hosts: log in there", wiring.ErrUsage)
	}
	s.opener().AddWorkflowSecrets(wf)
	if err := workspace.HideFromChildren(); err != nil {
		s.warn(fmt.Sprintf("what runs in the room can read this process and its secrets: %v", err))
	}
	if _, err := os.Stat(wf.Settings.Workspace.Root); errors.Is(err, fs.ErrNotExist) {
		return s.unknown(wf, name, nil)
	}
	root, err := workspace.Open(wiring.WorkspaceConfig(wf), s.ChildEnv(wf), quiet())
	if err != nil {
		return err
	}
	defer root.Close()
	root.Killed = s.Interrupts.Killed
	issue, err := s.findWorkspace(wf, root, name)
	if err != nil {
		return err
	}
	job, err := s.job(ctx, wf, root, issue)
	if err != nil {
		return err
	}
	if keys != nil {
		restore, err := terminal.Raw(keys)
		if err != nil {
			return fmt.Errorf("shell: %w", err)
		}
		defer restore()
	}
	code, err := attempt.Visit(ctx, job, visitor)
	switch {
	case errors.Is(err, workspace.ErrNone):
		return s.unknown(wf, name, nil)
	case err != nil:
		return fmt.Errorf("shell: %w", err)
	case code != 0:
		s.reported = true // the command itself has said why
		return &visitError{code}
	}
	return nil
}

func (s *shellCommand) findWorkspace(wf workflow.Workflow, root *workspace.Root, name string) (tracker.Issue, error) {
	known, _, err := root.Issues()
	if err != nil {
		return tracker.Issue{}, err
	}
	var named []lookup.Issue
	for _, issue := range known {
		named = append(named, lookup.Issue{ID: tracker.ID(issue.ID), Identifier: issue.Identifier})
	}
	if found, ok := matchIssue(wf, name, named); ok {
		return tracker.Issue{ID: found.ID, Identifier: found.Identifier}, nil
	}
	return tracker.Issue{}, s.unknown(wf, name, named)
}

// unknown returns the error for an issue that has no workspace, or none that is ready.
func (s *shellCommand) unknown(wf workflow.Workflow, name string, known []lookup.Issue) error {
	return fmt.Errorf("shell: %w; a session on the issue makes one: %s --once", unknownIssueError("no workspace of", name, "workspaces in "+shownPath(wf.Settings.Workspace.Root), known), s.ownCommand())
}

func (s *shellCommand) warn(text string) { printItem(s.Stderr, "", s.redactor.String(text)) }

// job returns the job of a session on an issue, as far as its room needs it.
func (s *shellCommand) job(ctx context.Context, wf workflow.Workflow, root *workspace.Root, issue tracker.Issue) (attempt.Job, error) {
	set, data := wf.Settings, wiring.DataFolder(wf.Path)
	job := attempt.Job{
		Issue: issue, Codex: set.Codex, Workspaces: root, Version: wiring.Version(), Log: quiet(),
		Account: s.Account(wf), SessionDir: wiring.SessionFolder(wf.Path), Program: wiring.Program(), Denied: denied(s.statePlace(), wf.Path),
		Loopback: set.Loopback, UnixSockets: set.UnixSockets, Network: set.Network, Services: set.Services, Lookup: s.Getenv, Redact: s.redactor.String,
		Warn: s.warn,
	}
	if set.Repository == nil {
		return job, nil
	}
	host, err := s.GitHost(ctx, data, wf, quiet())
	if err != nil {
		return attempt.Job{}, err
	}
	job.Repository = &attempt.Repository{
		Host: host, Hooks: set.Workspace.Hooks, TrustedHooks: !set.SandboxHooks,
		Setup: &attempt.Setup{Config: set.Setup, Preparations: attempt.NewPreparations(filepath.Join(data, "setup"))},
	}
	return job, nil
}
