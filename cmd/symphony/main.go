package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/codex/door"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace"
)

// gcPercent is GOGC unless the environment sets it. The live heap has a few megabytes; 400 lets it
// reach 16 MB before a collection.
const gcPercent = 400

func main() {
	if len(os.Args) > 1 && os.Args[1] == door.Name {
		os.Exit(door.Main(os.Args[2:], os.Environ(), os.Stderr))
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, interrupts := wiring.NewInterrupts(context.Background())
	interrupts.GiveUp = func() {
		fmt.Fprintf(os.Stderr, "symphony: the run did not end within %v after it was killed: something that it waits for does not answer; the next run takes over its claims\n", wiring.KillTime)
		os.Exit(exitInterrupted)
	}
	interrupts.Quit = func() { os.Exit(exitInterrupted) }
	interrupts.Watch(wantsDumps(os.Getenv))
	go workspace.ReapOrphans()
	// This goroutine keeps the first thread, so that no session starts there: the kernel makes orphans
	// its children, and the end of each session looks for them.
	runtime.LockOSThread()
	status := make(chan int)
	go func() {
		status <- run(ctx, wiring.Process{
			Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr, Stdin: os.Stdin, Interrupts: interrupts,
		})
	}()
	os.Exit(<-status)
}

// run runs the command line and returns the exit status. Every status except 0
// has its cause on standard error, or inside Actions in an annotation.
func run(ctx context.Context, p wiring.Process) int {
	out := &output{w: p.Stdout}
	a := &app{Process: p, endSurvival: func() {}, content: client.NewContentPace(0)}
	defer func() { a.endSurvival() }()
	a.Stdout = out
	a.DetectActions()
	a.redactor = a.EnvironmentSecrets()
	a.Tokens = &wiring.ModelTokens{Secret: func(token string) { a.AddSecret(a.redactor, token) }}
	root := a.command()
	root.SetArgs(a.Args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.reported {
		a.printError(err)
		a.summarizeError(err)
	}
	wiring.RevokeTokens(a.githubApps)
	_ = a.Actions.Close() // only out can make it fail, and out keeps its error
	if out.err != nil {
		what := "what was to be shown is lost: let it go to a terminal or a file with room"
		if out.kept {
			what = "the report is above, on standard error"
		}
		unprinted := fmt.Errorf("write to standard output: %w; %s", out.err, what)
		fmt.Fprintf(p.Stderr, "symphony: %s\n", a.redactor.String(unprinted.Error()))
		err = errors.Join(err, unprinted)
	}
	return exitStatus(err)
}

// command returns the root command, which performs ticks, with all others below it.
func (a *app) command() *cobra.Command {
	root := (&tickCommand{app: a}).command()
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.Version = wiring.BuildVersion()
	root.SetFlagErrorFunc(a.flagError)
	root.SetHelpFunc(printHelp)
	root.SetHelpCommand((&helpCommand{a}).command())
	root.CompletionOptions.DisableDefaultCmd = true
	shared := root.PersistentFlags()
	shared.StringVar(&a.state, "state", "", "`where` claims are kept: file:PATH, branch:NAME or cache:PATH (default file:.symphony/state.json beside WORKFLOW.md)")
	shared.StringVar(&a.logFormat, "log-format", "text", "`format` of logs and the report: text or json")
	root.AddCommand(
		(&initCommand{app: a}).command(),
		(&demoCommand{app: a}).command(),
		(&scriptedAgentCommand{app: a}).command(),
		(&modelTokenCommand{a}).command(),
		(&trialCommand{app: a}).command(),
		(&validateCommand{app: a}).command(),
		(&explainCommand{app: a}).command(),
		(&planCommand{app: a}).command(),
		(&workCommand{app: a}).command(),
		(&collectCommand{app: a}).command(),
		(&exchangeCommand{app: a}).command(),
		(&logCommand{app: a}).command(),
		(&promptCommand{a}).command(),
		(&setupCommand{app: a}).command(),
		(&shellCommand{a}).command(),
		(&stateCommand{app: a}).command(),
		(&statsCommand{app: a}).command(),
		(&schemaCommand{a}).command(),
		(&completionCommand{a}).command(),
		(&hostCommand{a}).command(),
	)
	completer{a}.flags(root)
	return root
}
