package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/internal/transport"
)

// app is one invocation of the program. All commands share it.
type app struct {
	wiring.Process
	state       string // the flag --state; empty for the default
	logFormat   string // the flag --log-format: text or json
	redactor    *redact.Redactor
	githubApps  []wiring.App    // apps opened so far
	content     *transport.Pace // pace of posts on GitHub; nil gives each client its own
	warnings    []string        // warnings for the report
	reported    bool            // the error of the command was printed, or is not to be
	endSurvival func()          // ends the work of surviveBrokenPipes
	program     string          // the words of a shell that start this program; empty until [app.ownCommand] is asked
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

func (a *app) statePlace() wiring.StatePlace {
	return wiring.StatePlace{GitHub: a.gitHub(), Flag: a.state, Redactor: a.redactor, Warn: a.warn}
}

func (a *app) gitHub() wiring.GitHub { return wiring.GitHub{Process: a.Process} }

// opener returns the opener of the places that a workflow names.
func (a *app) opener() wiring.Opener {
	return wiring.Opener{GitHub: a.gitHub(), State: a.statePlace(), Redactor: a.redactor, Apps: &a.githubApps, Content: a.content}
}

func (a *app) warn(text string) { a.warnings = append(a.warnings, text) }
