package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/transport"
	"github.com/symphony-runner/symphony/tracker/untrusted"
)

// How a check ended, and how bad a finding is.
const (
	resultOK      = "ok"
	resultProblem = "problem"
	resultSkipped = "skipped"
	warning       = "warning"
)

// validation collects what the checks of a workflow find. In text, each finding is printed
// at once.
type validation struct {
	a        *app
	mu       sync.Mutex
	issues   string    // the folder of the issues, if they are files
	Workflow string    `json:"workflow"` // as a person would write its path
	OK       bool      `json:"ok"`
	Checks   []check   `json:"checks"`
	Findings []finding `json:"problems"`
}

// check is the result of one check.
type check struct {
	Name   string `json:"name"`
	Result string `json:"result"`           // ok, problem or skipped
	Detail string `json:"detail,omitempty"` // what was checked, or why it was not
}

// finding is one problem or warning.
type finding struct {
	Check    string `json:"check"`
	Severity string `json:"severity"` // problem or warning
	place
	Key      string `json:"key,omitempty"`      // of WORKFLOW.md
	Category string `json:"category,omitempty"` // as logs and reports name it
	Message  string `json:"message"`            // what is wrong, and what to do
	Advice   string `json:"advice,omitempty"`   // what to do alone, if a part of the message says it
}

// place locates a finding. What is not known is empty or 0.
type place struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// String returns the place as compilers write it, with a colon and a space at its end.
func (p place) String() string {
	switch {
	case p.File == "":
		return ""
	case p.Line == 0:
		return p.File + ": "
	case p.Column == 0:
		return fmt.Sprintf("%s:%d: ", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Column)
}

// newValidation returns a validation of the workflow file at an absolute path.
func newValidation(a *app, path string) *validation {
	return &validation{a: a, Workflow: shownPath(path), Checks: []check{}, Findings: []finding{}}
}

// shownPath returns a path as a person would write it: relative to the current folder if it
// is below.
func shownPath(path string) string {
	folder, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}

// maxFindingText bounds a message, in characters.
const maxFindingText = 2000

// add records a finding, and prints it. It may be called by several goroutines.
func (v *validation) add(f finding) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f.Message = untrusted.OneLine(v.a.redactor.String(f.Message), maxFindingText)
	f.File, f.Key = untrusted.OneLine(f.File, maxFindingText), untrusted.OneLine(f.Key, maxFindingText)
	f.Advice = untrusted.OneLine(v.a.redactor.String(f.Advice), maxFindingText)
	v.Findings = append(v.Findings, f)
	v.printLine(f.Severity, f.Check, f.place.String()+f.Message)
}

// warn records a warning without a place.
func (v *validation) warn(check, text string) {
	v.add(finding{Check: check, Severity: warning, Message: text})
}

// fail records each line of an error as a problem; each line of a joined error is one.
func (v *validation) fail(check string, err error) {
	var problems prompt.Problems
	var malformed *tracker.MalformedError
	switch {
	case errors.As(err, &problems):
		for _, p := range problems {
			v.add(finding{check, resultProblem, place{v.Workflow, p.Line, 0}, "", p.Category.Error(), p.Category.Error() + ": " + p.Reason, advice(p.Reason)})
		}
	case errors.As(err, &malformed):
		for _, m := range malformed.Records {
			v.malformed(check, m)
		}
	default:
		for line := range strings.Lines(err.Error()) {
			if line = strings.TrimSpace(line); line != "" {
				v.add(finding{Check: check, Severity: resultProblem, Message: line})
			}
		}
	}
}

// setting records a problem of the workflow file, or a warning about it.
func (v *validation) setting(severity string, p workflow.Problem) {
	category := ""
	if p.Category != nil {
		category = p.Category.Error()
	} else if severity == resultProblem {
		category = workflow.ErrInvalid.Error()
	}
	v.add(finding{"workflow", severity, place{v.Workflow, p.Line, p.Column}, p.Key, category, p.Text(), advice(p.Reason)})
}

// advice returns the part of a reason that says what to do, if it has one.
func advice(reason string) string {
	_, todo, _ := strings.Cut(reason, "; ")
	return todo
}

// malformed records a record of the tracker that is no issue, with its file if it has one.
func (v *validation) malformed(check string, m tracker.Malformed) {
	f := finding{Check: check, Severity: resultProblem, Message: m.String()}
	if v.issues != "" && m.ID != "" {
		f.Message = m.Reason // the name of the file is that of the issue
		f.File = shownPath(filepath.Join(v.issues, string(m.ID)+".md"))
	}
	v.add(f)
}

// run makes a check and prints what it checked, if it found no problem.
func (v *validation) run(name string, do func() (detail string, err error)) {
	before := v.problems()
	detail, err := do()
	if err != nil {
		v.fail(name, err)
	}
	if v.problems() > before {
		v.Checks = append(v.Checks, check{name, resultProblem, ""})
		return
	}
	v.end(name, resultOK, detail)
}

// skip records why a check was not made.
func (v *validation) skip(name, why string) { v.end(name, resultSkipped, why) }

func (v *validation) end(name, result, detail string) {
	detail = untrusted.OneLine(v.a.redactor.String(detail), maxFindingText)
	v.Checks = append(v.Checks, check{name, result, detail})
	v.printLine(result, name, detail)
}

// problems returns the number of problems up to now.
func (v *validation) problems() int {
	n := 0
	for _, f := range v.Findings {
		if f.Severity == resultProblem {
			n++
		}
	}
	return n
}

// printLine prints a line of the text.
func (v *validation) printLine(word, check, text string) {
	if v.a.logFormat != "json" {
		v.a.printItem(fmt.Sprintf("%-9s %-11s ", word, check), text)
	}
}

// finish prints the findings if --log-format is json, and returns the error of a
// validation that found problems.
func (v *validation) finish() error {
	v.OK = v.problems() == 0
	if v.a.logFormat == "json" {
		text, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return err
		}
		_, _ = io.WriteString(v.a.stdout, v.a.redactor.String(string(text))+"\n") // see output
	}
	if v.OK {
		return nil
	}
	var failed []string
	for _, c := range v.Checks {
		if c.Result == resultProblem {
			failed = append(failed, c.Name)
		}
	}
	return fmt.Errorf("%w: validate found problems with: %s; standard output describes them", errUsage, strings.Join(failed, ", "))
}

// warnings is the log of an adapter during a check: its warnings are findings, except those
// about requests that are sent again.
type warnings struct {
	found *validation
	check string
}

func (w warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (w warnings) Handle(_ context.Context, r slog.Record) error {
	if r.Message == transport.Repeated {
		return nil
	}
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf(" · %s: %s", a.Key, a.Value)
		return true
	})
	w.found.warn(w.check, text)
	return nil
}

func (w warnings) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w warnings) WithGroup(string) slog.Handler      { return w }
