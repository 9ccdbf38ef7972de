package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// settleIn meets the Actions runtime, if there is one: then both standard streams
// belong to it, for the runner reads commands from both.
func (a *app) settleIn() {
	a.actions = action.New(a.stdout, func(name string) string {
		value, _ := a.getenv(name)
		return value
	})
	if a.actions.Inside() {
		a.stdout, a.stderr = a.actions.Writer(), a.actions.Writer()
	}
}

// option returns the name of a flag as it is known here: inside Actions, flags
// are set by inputs of the same name.
func (a *app) option(flag string) string {
	if a.actions.Inside() {
		return "the input " + flag
	}
	return "--" + flag
}

// stateOption returns --state with its value, or the inputs it is made of.
func (a *app) stateOption() string {
	kind, name, _ := strings.Cut(a.state, ":")
	switch {
	case a.actions.Inside() && kind == "branch":
		return fmt.Sprintf("the input state-branch %q", name)
	case a.actions.Inside() && kind == "cache":
		return `the input state "cache"`
	}
	return fmt.Sprintf("--state %q", a.state)
}

// invalidFlag matches an error of the command-line library.
var invalidFlag = regexp.MustCompile(`^invalid argument (".*") for "--([a-z-]+)" flag: `)

// flagError returns an error of the command line as one of usage.
func (a *app) flagError(err error) error {
	if parts := invalidFlag.FindStringSubmatch(err.Error()); parts != nil && a.actions.Inside() {
		want := "a whole number"
		if parts[2] == "deadline" {
			want = "a time such as 50m"
		}
		return fmt.Errorf("%w: %s is %s: write %s", errUsage, a.option(parts[2]), parts[1], want)
	}
	return fmt.Errorf("%w: %w; see symphony --help", errUsage, err)
}

// runFollows reports whether this is the plan of the Action, which runs the same
// tick afterwards if there is work. What both would say is left to the run.
func (a *app) runFollows() bool {
	dryRun, _ := a.getenv("INPUT_DRY_RUN")
	return a.actions.Inside() && a.dryRun && dryRun == "false"
}

// complain shows an error that ends the program, where people look for it.
func (a *app) complain(err error) {
	text := a.redactor.String(err.Error())
	if a.actions.Inside() {
		a.actions.Error(complaints[status(err)], text)
		return
	}
	for line := range strings.Lines(text) { // joined errors, one each
		fmt.Fprintf(a.stderr, "symphony: %s\n", strings.TrimSuffix(line, "\n"))
	}
}

// complaints are the titles of errors by exit status.
var complaints = map[int]string{
	exitFailed:      "Symphony failed",
	exitUsage:       "Symphony cannot run here",
	exitTaken:       "Another run holds the state",
	exitInterrupted: "Symphony was interrupted",
}

// tell prints what a session said, folded under its outcome.
func (a *app) tell(s runner.SessionLog) {
	title := fmt.Sprintf("%s %s · %s · turns: %d · tokens: %s · %s", s.Claim.Identifier, s.Claim.Title, report.Outcome(s.Outcome.Class, s.Next, s.Outcome.Turns),
		s.Outcome.Turns, report.Number(s.Outcome.Usage.Total()), report.Duration(s.Took))
	lines := s.Lines
	if s.Omitted > 0 {
		lines = append([]string{fmt.Sprintf("(%d lines before; the event log has all)", s.Omitted)}, lines...)
	}
	if s.Outcome.Why != "" {
		lines = append(lines, s.Outcome.Why)
	}
	lines = append(lines, s.Outcome.Warnings...)
	if len(lines) == 0 {
		lines = []string{"(it said nothing)"}
	}
	a.actions.Fold(a.redactor.String(title), a.redactor.String(strings.Join(lines, "\n")))
}

// publish tells the workflow run what came of the tick: annotations, the summary
// and the outputs. The tick is clean of secrets; failed says that it came to no
// good end.
func (a *app) publish(tick report.Tick, wf workflow.Workflow, failed bool) error {
	if !a.actions.Inside() {
		return nil
	}
	var errs []error
	if failed || !tick.Work() || !a.runFollows() {
		r := report.Of(tick)
		mend, survived, fine := r.Notes()
		annotate(mend, a.actions.Error)
		annotate(survived, a.actions.Warning)
		annotate(fine, a.actions.Notice)
		errs = append(errs, a.actions.Summary(r.Markdown()))
	}
	for _, output := range a.outputs(tick, wf) {
		errs = append(errs, a.actions.Output(output[0], output[1]))
	}
	return errors.Join(errs...)
}

func annotate(notes []report.Note, show func(title, text string)) {
	for _, n := range notes {
		show(n.Title, n.Text)
	}
}

// outputs are what the steps that follow may ask for.
func (a *app) outputs(tick report.Tick, wf workflow.Workflow) [][2]string {
	counts := tick.Counts()
	due := ""
	if !tick.NextDue.IsZero() {
		due = tick.NextDue.Add(time.Second - 1).UTC().Format(time.RFC3339) // whole seconds, and never too early
	}
	all := [][2]string{
		{"work", strconv.FormatBool(tick.Work())},
		{"dispatched", strconv.Itoa(counts.Dispatched)},
		{"completed", strconv.Itoa(counts.Completed)},
		{"failed", strconv.Itoa(counts.Failed)},
		{"parked", strconv.Itoa(counts.Parked)},
		{"retrying", strconv.Itoa(counts.Retrying)},
		{"tokens", strconv.FormatInt(tick.Spent.Usage.Total(), 10)},
		{"next-due-at", due},
		{"report", a.report},
	}
	if a.dryRun { // for the rest of the Action
		program := firstWord(wf.Settings.Codex.Command)
		all = append(all,
			[2]string{"codex", strconv.FormatBool(program == "codex")}, // of the PATH: to be installed
			[2]string{"sandbox", strconv.FormatBool(filepath.Base(program) == "codex" && wf.Settings.Codex.NeedsSandbox())},
			[2]string{"workspaces", wf.Settings.Workspace.Root})
		private := ""
		if tick.Work() && a.runFollows() {
			private = a.private(a.event)
		}
		all = append(all, [2]string{"private", private})
	}
	return all
}

// firstWord is the program that a command of the shell starts.
func firstWord(command string) string {
	for _, word := range strings.Fields(command) {
		if word != "exec" && !strings.Contains(word, "=") {
			return word
		}
	}
	return ""
}

// keepReport writes the report to the file that --report names.
func (a *app) keepReport(r report.Report) error {
	if a.report == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(a.report), 0o700)
	}
	if err == nil {
		err = os.WriteFile(a.report, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the report: %w; give --report a file that can be written", err)
	}
	return nil
}

// failOn says whether a tick that did its work must fail all the same.
func (a *app) failOn(tick report.Tick) error {
	failed, parked := tick.Counts().Failed, len(tick.Parked)
	switch {
	case parked > 0 && a.failAt != failNever:
		return fmt.Errorf("%w: %d parked in this tick; see what they ask in the report", errFailOn, parked)
	case failed > 0 && a.failAt == failFailed:
		return fmt.Errorf("%w: %d failed in this tick; see why in the report", errFailOn, failed)
	}
	return nil
}

// What --fail-on may say.
const (
	failNever  = "never"
	failFailed = "failed" // or parked
	failParked = "parked"
)
