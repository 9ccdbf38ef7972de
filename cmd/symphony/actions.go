package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// flagError turns an error of the command-line library into an error of usage, in our words.
func (a *app) flagError(cmd *cobra.Command, err error) error {
	hint := "see " + cmd.CommandPath() + " --help"
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return a.valueError(invalid.GetFlag(), invalid.GetValue())
	}
	if bare, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		name := "--" + bare.GetFlag().Name
		value, _ := pflag.UnquoteUsage(bare.GetFlag())
		return fmt.Errorf("%w: %s has no value: write %s %s; %s", errUsage, name, name, strings.ToUpper(value), hint)
	}
	if wrong, ok := errors.AsType[*pflag.InvalidSyntaxError](err); ok {
		return fmt.Errorf("%w: %q is not how a flag is written; %s", errUsage, wrong.GetSpecifiedFlag(), hint)
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return fmt.Errorf("%w: %w; %s", errUsage, err, hint)
	}
	flag, name := "--"+unknown.GetSpecifiedName(), unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		first, _ := utf8.DecodeRuneInString(letters)
		flag, name = "-"+string(first), letters
	}
	if len(name) > 1 {
		if near := nearestFlag(cmd, name); near != "" {
			hint = "did you mean " + near + "?"
		}
	}
	return fmt.Errorf("%w: unknown flag: %s; %s", errUsage, flag, hint)
}

// valueError returns the error for a value that a flag does not take.
func (a *app) valueError(flag *pflag.Flag, value string) error {
	if flag.Name == "port" {
		return fmt.Errorf("%w: --port %q: want 0 (any free port) to %d", errUsage, value, maxPort)
	}
	want := "a whole number"
	switch flag.Value.Type() {
	case "duration":
		want = "a time such as 50m"
	case "bool":
		want = "true or false"
	}
	return fmt.Errorf("%w: %s is %q: write %s", errUsage, a.option(flag.Name), value, want)
}

// printError prints an error that ends the program: as an annotation inside Actions,
// on standard error elsewhere.
func (a *app) printError(err error) {
	text := a.redactor.String(err.Error())
	if a.actions.InActions() {
		a.actions.Error(errorTitles[exitStatus(err)], text)
		return
	}
	for line := range strings.Lines(text) { // joined errors, one each
		printItem(a.stderr, "symphony: ", strings.TrimSuffix(line, "\n"))
	}
}

// printWarning prints an error that ends nothing, on standard error.
func (a *app) printWarning(err error) {
	for line := range strings.Lines(a.redactor.String(err.Error())) {
		printItem(a.stderr, "symphony: warning: ", strings.TrimSuffix(line, "\n"))
	}
}

// summarizeError writes an error that ended the program before it had a report to the
// summary of the step, inside Actions only: people look there for what a tick did.
func (a *app) summarizeError(err error) {
	if !a.actions.InActions() {
		return
	}
	repository, _ := a.getenv("GITHUB_REPOSITORY")
	page := report.Failure(errorTitles[exitStatus(err)], a.redactor.String(err.Error()), a.gitHub().links(workflow.Workflow{}, repository))
	if err := a.actions.Summary(page); err != nil {
		a.actions.Warning("", a.redactor.String(err.Error()))
	}
}

// errorTitles holds the titles of annotations by exit status.
var errorTitles = map[int]string{
	exitFailed:      "Symphony failed",
	exitUsage:       "Symphony cannot run here",
	exitTaken:       "Another run holds the state",
	exitInterrupted: "Symphony was interrupted",
}

// printSession prints what an ended session said, as a group under its outcome.
func (t *tickCommand) printSession(s runner.SessionLog) {
	title := fmt.Sprintf("%s %s · %s", s.Claim.Identifier, s.Claim.Title, sessionResult(s))
	lines := s.Lines
	if s.Omitted > 0 {
		lines = append([]string{fmt.Sprintf("(%d lines before)", s.Omitted)}, lines...)
	}
	lines = append(lines, t.sessionDetails(s)...)
	if len(lines) == 0 {
		lines = []string{"(it said nothing)"}
	}
	t.actions.Group(t.redactor.String(text.Lines(title)), t.redactor.String(strings.Join(lines, "\n")))
}

// sessionResult returns the result and the cost of a session, in one line.
func sessionResult(s runner.SessionLog) string {
	return fmt.Sprintf("%s · turns: %d · tokens: %s · %s", report.Outcome(s.Outcome, s.Next, s.Delivers),
		s.Outcome.Turns, text.Number(s.Outcome.Usage.Total()), text.Duration(s.Took))
}

// sessionDetails returns the reason for the result of a session, its warnings, and where the job's artifact
// has its log.
func (t *tickCommand) sessionDetails(s runner.SessionLog) (lines []string) {
	if s.Outcome.Why != "" {
		lines = append(lines, s.Outcome.Why)
	}
	lines = append(lines, s.Outcome.Warnings...)
	if log := t.logInArtifact(s.File); log.Artifact != "" {
		lines = append(lines, fmt.Sprintf("The session's log: %s of the artifact %s", log.File, log.Artifact))
	}
	return lines
}
