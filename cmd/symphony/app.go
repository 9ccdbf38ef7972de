package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// app is one invocation of the program. All commands share it.
type app struct {
	process
	state       string // the flag --state; empty for the default
	logFormat   string // the flag --log-format: text or json
	redactor    *redact.Redactor
	githubApps  []githubApp     // apps opened so far
	content     *transport.Pace // pace of posts on GitHub; nil gives each client its own
	warnings    []string        // warnings for the report
	reported    bool            // the error of the command was printed, or is not to be
	endSurvival func()          // ends the work of surviveBrokenPipes
	program     string          // the words of a shell that start this program; empty until [app.ownCommand] is asked
}

// run runs the command line and returns the exit status. Every status except 0
// has its cause on standard error, or inside Actions in an annotation.
func run(ctx context.Context, p process) int {
	out := &output{w: p.stdout}
	a := &app{process: p, endSurvival: func() {}, content: client.NewContentPace(0)}
	defer func() { a.endSurvival() }()
	a.stdout = out
	a.detectActions()
	a.redactor = a.environmentSecrets()
	a.tokens = &modelTokens{secret: func(token string) { a.addSecret(a.redactor, token) }}
	root := a.command()
	root.SetArgs(a.args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.reported {
		a.printError(err)
		a.summarizeError(err)
	}
	a.revokeTokens()
	_ = a.actions.Close() // only out can make it fail, and out keeps its error
	if out.err != nil {
		what := "what was to be shown is lost: let it go to a terminal or a file with room"
		if out.kept {
			what = "the report is above, on standard error"
		}
		unprinted := fmt.Errorf("write to standard output: %w; %s", out.err, what)
		fmt.Fprintf(p.stderr, "symphony: %s\n", a.redactor.String(unprinted.Error()))
		err = errors.Join(err, unprinted)
	}
	return exitStatus(err)
}

// command returns the root command, which performs ticks, with all others below it.
func (a *app) command() *cobra.Command {
	root := (&tickCommand{app: a}).command()
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.Version = buildVersion()
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
		(&validateCommand{a}).command(),
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

// surviveBrokenPipes keeps the process alive when the reader of its output is gone:
// sessions continue, and a write fails like any other (SPEC §13.2). A handler is not
// inherited by child processes, as an ignored signal would be. It stays until the program
// ends, which has an exit status of its own also when its last words find no reader.
func (a *app) surviveBrokenPipes() {
	broken := make(chan os.Signal, 1) // never read: the write fails as well
	signal.Notify(broken, syscall.SIGPIPE)
	a.endSurvival = func() { signal.Stop(broken) }
}

func (a *app) statePlace() statePlace {
	return statePlace{gitHub: a.gitHub(), flag: a.state, redactor: a.redactor, warn: a.warn}
}

func (a *app) gitHub() gitHub { return gitHub{a.process} }

// opener returns the opener of the places that a workflow names.
func (a *app) opener() opener {
	return opener{gitHub: a.gitHub(), state: a.statePlace(), redactor: a.redactor, apps: &a.githubApps, content: a.content}
}

func (a *app) warn(text string) { a.warnings = append(a.warnings, text) }

// takeWorkflow makes the path of a WORKFLOW.md the only argument of a command.
func takeWorkflow(cmd *cobra.Command) {
	cmd.Annotations, cmd.Args, cmd.ValidArgsFunction = ofWorkflow(), argumentsUpTo(1), completeWorkflow
}
