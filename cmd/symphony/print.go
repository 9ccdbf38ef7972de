package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/terminal"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// wide is the width of output outside of a terminal.
const wide = 160

// document can be printed as text for people and, encoded as JSON, for scripts.
type document interface {
	Text(width int) string
}

// output is standard output. It keeps the first error, which ends the program
// with a failure; so the errors of its writes need no other check.
type output struct {
	w    io.Writer
	err  error
	kept bool // the part that it did not take was written to standard error
}

func (o *output) Write(text []byte) (int, error) {
	n, err := o.w.Write(text)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

func (a *app) print(d document) error {
	if a.logFormat == "json" {
		text, err := a.jsonText(d)
		if err == nil {
			_, _ = io.WriteString(a.Stdout, text) // see output
		}
		return err
	}
	_, _ = io.WriteString(a.Stdout, a.redactor.String(d.Text(width(a.Stdout)))) // see output
	return nil
}

// jsonText returns a value as JSON without secrets, as lines. Texts in it are as they were
// read: characters that could control the terminal of a reader are escaped, after secrets are
// hidden in their own spelling.
func (a *app) jsonText(value any) (string, error) {
	s, err := json.MarshalIndent(value, "", "  ")
	return text.EscapeJSON(a.redactor.String(string(s))) + "\n", err
}

func (a *app) printItem(lead, text string) { printItem(a.Stdout, lead, a.redactor.String(text)) }

// printItem writes an entry of a list, which begins with lead: as it is, or on a
// terminal wrapped to its width.
func printItem(w io.Writer, lead, text string) {
	if columns, ok := terminalWidth(w); ok {
		_, _ = io.WriteString(w, wrapItem(lead, text, columns))
		return
	}
	fmt.Fprintln(w, lead+text)
}

// wrapItem returns an entry of a list, wrapped to a width. A lead that would take more than
// a third of it has a line of its own.
func wrapItem(lead, text string, columns int) string {
	if 3*utf8.RuneCountInString(lead) <= columns {
		return report.Wrapped(lead, text, columns)
	}
	return strings.TrimRight(lead, " ") + "\n" + report.Wrapped("  ", text, columns)
}

// width returns the width of the terminal that w writes to, or wide if w does not write
// to a terminal.
func width(w io.Writer) int {
	if columns, ok := terminalWidth(w); ok {
		return columns
	}
	return wide
}

// terminalWidth returns the width of the terminal that w writes to, if it is one.
func terminalWidth(w io.Writer) (columns int, ok bool) {
	if f, ok := underlying(w).(*os.File); ok {
		columns, _ = terminal.Size(f)
	}
	return columns, columns > 0
}

// underlying returns the writer below a writer of standard output.
func underlying(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return o.w
	}
	return w
}

// printError prints an error that ends the program: as an annotation inside Actions,
// on standard error elsewhere.
func (a *app) printError(err error) {
	text := a.redactor.String(err.Error())
	if a.Actions.InActions() {
		a.Actions.Error(errorTitles[exitStatus(err)], text)
		return
	}
	for line := range strings.Lines(text) { // joined errors, one each
		printItem(a.Stderr, "symphony: ", strings.TrimSuffix(line, "\n"))
	}
}

// printWarning prints an error that ends nothing, on standard error.
func (a *app) printWarning(err error) {
	for line := range strings.Lines(a.redactor.String(err.Error())) {
		printItem(a.Stderr, "symphony: warning: ", strings.TrimSuffix(line, "\n"))
	}
}

// summarizeError writes an error that ended the program before it had a report to the summary
// of the step, inside Actions only: people look there for the result of a tick.
func (a *app) summarizeError(err error) {
	if !a.Actions.InActions() {
		return
	}
	page := report.Failure(errorTitles[exitStatus(err)], a.redactor.String(err.Error()), a.gitHub().Links(workflow.Workflow{}, a.Value("GITHUB_REPOSITORY")))
	if err := a.Actions.Summary(page); err != nil {
		a.Actions.Warning("", a.redactor.String(err.Error()))
	}
}
