package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/codex/scriptedagent"
	"github.com/symphony-runner/symphony/workspace/git"
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
		Use:               "demo",
		Short:             "One tick over three sample issues in a temporary folder, without credentials",
		Example:           "symphony demo\nsymphony demo --codex # with your own Codex and its login",
		Args:              usage(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return d.Run(cmd.Context()) },
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
	program, err := lastingProgram(folder)
	if err != nil {
		return err
	}
	agent := realAgent
	if !d.codex {
		agent = fmt.Sprintf("exec %s scripted-agent app-server --home %s", shellQuote(program), shellQuote(filepath.Join(folder, "agent")))
	}
	noGit := d.createShop(ctx, folder)
	if noGit != nil && !errors.Is(noGit, git.ErrNoGit) {
		return noGit
	}
	if err := copyDemo(folder, agent, noGit == nil); err != nil {
		return err
	}
	fmt.Fprintf(d.stderr, "Three issues in %s\n\n", filepath.Join(folder, "issues"))
	if noGit != nil {
		fmt.Fprint(d.stderr, "There is no git on the PATH, or an old one: nothing is delivered, and the work stays in the workspaces.\n\n")
	}
	workflow := filepath.Join(folder, "WORKFLOW.md")
	tick := &tickCommand{app: d.app, once: true, failOn: failNever}
	err = tick.perform(ctx, workflow)
	issues := "The issues are"
	if d.printAdvice(folder, noGit == nil) {
		issues = "Symphony changed the states of the issues,"
	} else {
		fmt.Fprintf(d.stderr, "\nNo issue was finished. See whether something is missing with\n\n    %s validate %s\n\n", quoteIfNeeded(program), quoteIfNeeded(workflow))
	}
	fmt.Fprintf(d.stderr, "Read what the agent did, here in the session that failed, with\n\n    %s log DEMO-3 %s\n\n", quoteIfNeeded(program), quoteIfNeeded(workflow))
	fmt.Fprintf(d.stderr, "%s in %s.\nRun the next tick with\n\n    %s --once %s\n",
		issues, filepath.Join(folder, "issues"), quoteIfNeeded(program), quoteIfNeeded(workflow))
	return err
}

// printAdvice prints where the work of the finished issues is, with commands that show
// it. It reports whether an issue may be finished.
func (d *demoCommand) printAdvice(folder string, delivers bool) bool {
	if !delivers {
		fmt.Fprintf(d.stderr, "\nLook at the files the agent made in %s.\n", filepath.Join(folder, "workspaces"))
		return true
	}
	shop := filepath.Join(folder, "shop")
	patches, _ := filepath.Glob(filepath.Join(folder, "patches", "*.patch")) // fails for a wrong pattern alone
	if len(patches) == 0 {
		return false
	}
	fmt.Fprintf(d.stderr, "\nThe finished work is on branches of the sample repository %s,\nand in %s. Look at it, and take a patch over, with\n\n    git -C %s log --all --patch\n    git -C %s apply %s\n\n",
		shop, filepath.Join(folder, "patches"), quoteIfNeeded(shop), quoteIfNeeded(shop), quoteIfNeeded(patches[0]))
	return true
}

// lastingProgram returns the path of this program. `go run` removes its program when it
// ends: the demo's folder gets a copy of that.
func lastingProgram(folder string) (string, error) {
	self, err := os.Executable()
	if err != nil || !strings.Contains(self, "/go-build") {
		return self, err
	}
	kept := filepath.Join(folder, "symphony")
	if os.Link(self, kept) == nil {
		return kept, nil
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return "", err
	}
	return kept, os.WriteFile(kept, program, 0o700)
}

// createShop makes the sample repository to which the work is delivered. The error is
// [git.ErrNoGit] if there is no git that can be used.
func (d *demoCommand) createShop(ctx context.Context, folder string) error {
	host, err := git.Open(ctx, git.Config{
		Dir:        filepath.Join(dataFolder(filepath.Join(folder, "WORKFLOW.md")), "repositories"),
		Workspaces: filepath.Join(folder, "workspaces"), Env: d.environ, Log: quiet(),
	})
	if err != nil {
		return err
	}
	files := make(map[string]string)
	err = fs.WalkDir(demoFiles, demoShop, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := demoFiles.ReadFile(path)
		files[strings.TrimPrefix(path, demoShop+"/")] = string(content)
		return err
	})
	if err != nil {
		return err
	}
	who := d.author()
	who.When = time.Now()
	return host.Create(ctx, filepath.Join(folder, "shop"), files, git.Commit{Author: who, Committer: who, Message: "Open the shop"})
}

// demoShop is the folder of demoFiles with the content of the sample repository.
const demoShop = "demo/shop"

// copyDemo writes the sample files, with the agent's command. Without a delivery the
// agent moves the issues itself.
func copyDemo(folder, command string, delivers bool) error {
	return fs.WalkDir(demoFiles, "demo", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == demoShop {
			return fs.SkipDir
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
		if !delivers {
			text = deliverSections().ReplaceAllString(text, "")
			text = deliverStep().ReplaceAllString(text, "- [ ] Move this issue to `Review`")
		}
		return os.WriteFile(target, []byte(text), 0o600)
	})
}

// What the sample files say of the delivery.
var (
	deliverSections = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(repository|delivery):\n(  .*\n)+`) })
	deliverStep     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?m)^- \\[ \\] Call `deliver` .*$") })
)

// quoteIfNeeded returns text as one word of a shell command, quoted if it is more than
// one otherwise.
func quoteIfNeeded(text string) string {
	if plainWord().MatchString(text) {
		return text
	}
	return shellQuote(text)
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`) })

func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// scriptedAgentCommand is the small app-server that works in the demo: it does what
// the task list in its prompt says.
type scriptedAgentCommand struct {
	*app
	home    string
	config  []string
	unknown []string
}

func (s *scriptedAgentCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "scripted-agent [app-server]",
		Short:   "A small Codex app-server that does what the task list in its prompt says",
		Example: "symphony scripted-agent app-server --home agent",
		Hidden:  true,
		Args:    usage(cobra.MaximumNArgs(1)),
		RunE:    func(cmd *cobra.Command, _ []string) error { return s.Run(cmd.Context()) },
	}
	cmd.Flags().StringArrayVarP(&s.config, "config", "c", nil, "key=value, a setting as of Codex")
	cmd.Flags().StringArrayVar(&s.unknown, "unknown", nil, "a method that it does not know, as an older Codex")
	cmd.Flags().StringVar(&s.home, "home", "", "folder in which its threads are remembered")
	return cmd
}

// Run serves one client on the standard streams. An exit that the script asks for is
// an error that only sets the exit status.
func (s *scriptedAgentCommand) Run(ctx context.Context) error {
	err := scriptedagent.Serve(ctx, s.stdin, s.stdout, scriptedagent.Options{Home: s.home, Config: s.config, Unknown: s.unknown})
	if _, ok := errors.AsType[*scriptedagent.ExitError](err); ok {
		s.reported = true
	}
	return err
}
