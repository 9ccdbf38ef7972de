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

func (a *app) demoCommand() *cobra.Command {
	var useCodex bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "One tick over three sample issues in a temporary folder, without credentials",
		Args:  usage(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), useCodex) },
	}
	cmd.Flags().BoolVar(&useCodex, "codex", false, "let your own Codex work on them, with your login")
	return cmd
}

// demo runs one tick over the sample issues. The folder is left for looking at.
func (a *app) demo(ctx context.Context, useCodex bool) error {
	folder, err := os.MkdirTemp("", "symphony-demo-")
	if err != nil {
		return err
	}
	command := realAgent
	if !useCodex {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		command = fmt.Sprintf("exec %s scripted-agent --home %s", shellQuote(self), shellQuote(filepath.Join(folder, "agent")))
	}
	if err := copyDemo(folder, command); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "Three issues in %s\n\n", filepath.Join(folder, "issues"))
	a.once = true
	err = a.perform(ctx, filepath.Join(folder, "WORKFLOW.md"))
	fmt.Fprintf(a.stderr, "\nLook at the files the agent made in %s,\nand at the issues, whose states it changed. Run the next tick with\n\n    symphony --once %s\n",
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

// agentCommand is the small app-server that works in the demo: it does what the
// task list in its prompt says.
func (a *app) agentCommand() *cobra.Command {
	var home string
	cmd := &cobra.Command{
		Use:    "scripted-agent",
		Short:  "A small Codex app-server that does what the task list in its prompt says",
		Hidden: true,
		Args:   usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := scriptedagent.Serve(cmd.Context(), a.stdin, a.stdout, scriptedagent.Options{Home: home})
			if exit, ok := errors.AsType[*scriptedagent.ExitError](err); ok {
				os.Exit(exit.Code)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&home, "home", "", "folder in which its threads are remembered")
	return cmd
}
