package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/codex/scriptedagent"
	"github.com/symphony-runner/symphony/internal/shell"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/demo"
	"github.com/symphony-runner/symphony/workspace/git"
)

// demoCommand performs one tick over sample issues.
type demoCommand struct {
	*app
	codex bool
}

func (d *demoCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "demo",
		Short:             "One tick over three sample issues in a temporary folder, without credentials",
		Example:           "symphony demo\nsymphony demo --codex # with your own Codex and its login",
		Args:              argumentsUpTo(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return d.Run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&d.codex, "codex", false, "let your own Codex work on them, with your login")
	return cmd
}

// Run performs the tick in a new temporary folder, which it leaves behind for the
// user to look at.
func (d *demoCommand) Run(ctx context.Context) error {
	folder, err := d.makeFolder()
	if err != nil {
		return err
	}
	program, err := lastingProgram(folder)
	if err != nil {
		return err
	}
	d.app.program = shell.Word(program)
	agent := demo.RealAgent
	if !d.codex {
		agent = scriptedAgent(program, folder)
	}
	noGit := d.createShop(ctx, folder)
	if noGit != nil && !errors.Is(noGit, git.ErrNoGit) {
		return noGit
	}
	if err := demo.Write(folder, agent, noGit == nil); err != nil {
		return err
	}
	fmt.Fprintf(d.Stderr, "Three issues in %s\n\n", filepath.Join(folder, "issues"))
	if noGit != nil {
		fmt.Fprint(d.Stderr, "There is no git on the PATH, or an old one: nothing is delivered, and the work stays in the workspaces.\n\n")
	}
	workflow := filepath.Join(folder, "WORKFLOW.md")
	tick := &tickCommand{app: d.app, tickOptions: tickOptions{once: true, failOn: failNever}}
	err = tick.perform(ctx, workflow)
	issues, ended := "The issues are", err == nil // the error explains a tick that did not end
	switch {
	case (ended || noGit == nil) && d.printAdvice(folder, noGit == nil):
		issues = "Symphony changed the states of the issues,"
	case ended:
		fmt.Fprintf(d.Stderr, "\nNo issue was finished. See whether something is missing with\n\n    %s validate %s\n\n", d.ownCommand(), shell.Word(workflow))
	default:
		fmt.Fprintln(d.Stderr)
	}
	if ended {
		fmt.Fprintf(d.Stderr, "Read what the agent did, here in the session that failed, with\n\n    %s log DEMO-3 %s\n\n", d.ownCommand(), shell.Word(workflow))
	}
	fmt.Fprintf(d.Stderr, "%s in %s.\nRun the next tick with\n\n    %s --once %s\n",
		issues, filepath.Join(folder, "issues"), d.ownCommand(), shell.Word(workflow))
	return err
}

// scriptedAgent returns the command of the scripted agent, which keeps its threads below a folder.
func scriptedAgent(program, folder string) string {
	return fmt.Sprintf("exec %s scripted-agent app-server --home %s", shell.Quote(program), shell.Quote(filepath.Join(folder, "agent")))
}

// makeFolder makes the folder of the demo, below that for temporary files. A path that cannot
// be shown cannot be copied from a command either, and git would not read it.
func (d *demoCommand) makeFolder() (string, error) {
	temp, err := filepath.Abs(d.TempDir())
	if err == nil && (!utf8.ValidString(temp) || strings.ContainsFunc(temp, func(c rune) bool { return !unicode.IsPrint(c) })) {
		err = fmt.Errorf("%q has a character that cannot be shown, such as a line break", temp)
	}
	folder := ""
	if err == nil {
		folder, err = os.MkdirTemp(temp, "symphony-demo-")
	}
	if err != nil {
		return "", fmt.Errorf("%w: make the folder of the demo: %w; let TMPDIR name another folder, such as /tmp", wiring.ErrUsage, err)
	}
	return folder, nil
}

// printAdvice prints where the work of the finished issues is, with commands that show
// it. It reports whether an issue may be finished.
func (d *demoCommand) printAdvice(folder string, delivers bool) bool {
	if !delivers {
		fmt.Fprintf(d.Stderr, "\nLook at the files the agent made in %s.\n", filepath.Join(folder, "workspaces"))
		return true
	}
	shop := filepath.Join(folder, "shop")
	patches, _ := fs.Glob(os.DirFS(folder), "patches/*.patch") // fails for a wrong pattern alone
	if len(patches) == 0 {
		return false
	}
	fmt.Fprintf(d.Stderr, "\nThe finished work is on branches of the sample repository %s,\nand in %s. Look at it, and take a patch over, with\n\n    git -C %s log --all --patch\n    git -C %s apply %s\n\n",
		shop, filepath.Join(folder, "patches"), shell.Word(shop), shell.Word(shop), shell.Word(filepath.Join(folder, patches[0])))
	return true
}

// createShop makes the sample repository to which the work is delivered. The error is
// [git.ErrNoGit] if there is no git that can be used.
func (d *demoCommand) createShop(ctx context.Context, folder string) error {
	host, err := git.Open(ctx, git.Config{
		Dir:        filepath.Join(wiring.DataFolder(filepath.Join(folder, "WORKFLOW.md")), "repositories"),
		Workspaces: filepath.Join(folder, "workspaces"), Env: d.Environ, Log: quiet(),
	})
	if err != nil {
		return err
	}
	who := d.Author()
	who.When = time.Now()
	return demo.CreateShop(ctx, host, filepath.Join(folder, "shop"), who)
}

// scriptedAgentCommand is the small app-server that works in the demo and in the trial: it
// follows the task list in its prompt.
type scriptedAgentCommand struct {
	*app
	home   string
	config []string
}

func (s *scriptedAgentCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "scripted-agent [app-server]",
		Short:   "A small Codex app-server that does what the task list in its prompt says",
		Example: "symphony scripted-agent app-server --home agent",
		Hidden:  true,
		Args:    argumentsUpTo(1),
		RunE:    func(cmd *cobra.Command, _ []string) error { return s.Run(cmd.Context()) },
	}
	cmd.Flags().StringArrayVarP(&s.config, "config", "c", nil, "key=value, a setting as of Codex")
	cmd.Flags().StringVar(&s.home, "home", "", "folder in which its threads are remembered, unless CODEX_HOME was made for the session")
	return cmd
}

// Run serves one client on the standard streams.
func (s *scriptedAgentCommand) Run(ctx context.Context) error {
	home := s.home
	if own := s.Value("CODEX_HOME"); attempt.IsSessionHome(own) {
		home = own
	}
	return scriptedagent.Serve(ctx, s.Stdin, s.Stdout, scriptedagent.Options{Home: home, Config: s.config})
}
