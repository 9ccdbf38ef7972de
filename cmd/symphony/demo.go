package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/codex/scriptedagent"
)

//go:embed demo
var demoFiles embed.FS

// realAgent is the command of the demo's WORKFLOW.md.
const realAgent = "codex app-server"

// demoCommand performs one tick over sample issues.
type demoCommand struct {
	*app
	codex bool
}

func (d *demoCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "One tick over three sample issues in a temporary folder, without credentials",
		Args:  usage(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return d.Run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&d.codex, "codex", false, "let your own Codex work on them, with your login")
	return cmd
}

// Run performs the tick in a new temporary folder, which it leaves behind for the
// user to look at.
func (d *demoCommand) Run(ctx context.Context) error {
	folder, err := os.MkdirTemp(d.tempDir(), "symphony-demo-")
	if err != nil {
		return err
	}
	command := realAgent
	if !d.codex {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		command = fmt.Sprintf("exec %s scripted-agent app-server --home %s", shellQuote(self), shellQuote(filepath.Join(folder, "agent")))
	}
	if err := copyDemo(folder, command); err != nil {
		return err
	}
	fmt.Fprintf(d.stderr, "Three issues in %s\n\n", filepath.Join(folder, "issues"))
	tick := &tickCommand{app: d.app, once: true, failOn: failNever}
	err = tick.perform(ctx, filepath.Join(folder, "WORKFLOW.md"))
	fmt.Fprintf(d.stderr, "\nLook at the files the agent made in %s,\nand at the issues, whose states it changed. Run the next tick with\n\n    symphony --once %s\n",
		filepath.Join(folder, "workspaces"), filepath.Join(folder, "WORKFLOW.md"))
	return err
}

// copyDemo writes the sample files, with the agent's command.
func copyDemo(folder, command string) error {
	return fs.WalkDir(demoFiles, "demo", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(folder, filepath.FromSlash(strings.TrimPrefix(path, "demo")))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		content, err := demoFiles.ReadFile(path)
		if err != nil {
			return err
		}
		text := strings.Replace(string(content), "command: "+realAgent, "command: "+strconv.Quote(command), 1)
		return os.WriteFile(target, []byte(text), 0o600)
	})
}

func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// scriptedAgentCommand is the small app-server that works in the demo: it does what
// the task list in its prompt says.
type scriptedAgentCommand struct {
	*app
	home   string
	config []string
}

func (s *scriptedAgentCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:    "scripted-agent [app-server]",
		Short:  "A small Codex app-server that does what the task list in its prompt says",
		Hidden: true,
		Args:   usage(cobra.MaximumNArgs(1)),
		RunE:   func(cmd *cobra.Command, _ []string) error { return s.Run(cmd.Context()) },
	}
	cmd.Flags().StringArrayVarP(&s.config, "config", "c", nil, "key=value, a setting as of Codex")
	cmd.Flags().StringVar(&s.home, "home", "", "folder in which its threads are remembered")
	return cmd
}

// Run serves one client on the standard streams. An exit that the script asks for is
// an error that only sets the exit status.
func (s *scriptedAgentCommand) Run(ctx context.Context) error {
	err := scriptedagent.Serve(ctx, s.stdin, s.stdout, scriptedagent.Options{Home: s.home, Config: s.config})
	if _, ok := errors.AsType[*scriptedagent.ExitError](err); ok {
		s.reported = true
	}
	return err
}
