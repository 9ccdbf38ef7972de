package validation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// How a check ended, and how bad a finding is.
const (
	ok      = "ok"
	Problem = "problem"
	skipped = "skipped"
	Warning = "warning"
)

// Report collects the findings of the checks of a workflow. Encoded as JSON it is the output of
// validate for programs.
type Report struct {
	// Issues is the folder of the issues, if they are files, as a person would write it.
	Issues string `json:"-"`

	Workflow string    `json:"workflow"` // path as a person would write it
	OK       bool      `json:"ok"`       // set by End
	Checks   []Check   `json:"checks"`
	Findings []Finding `json:"problems"`

	mu     sync.Mutex
	redact func(string) string
	print  func(word, check, text string)
}

// New returns a report on a workflow file. It calls print at once with each line of the text,
// which is a finding or the detail of a check. It removes secrets with redact.
func New(workflow string, redact func(string) string, print func(word, check, text string)) *Report {
	return &Report{Workflow: workflow, Checks: []Check{}, Findings: []Finding{}, redact: redact, print: print}
}

// Check is the result of one check.
type Check struct {
	Name   string `json:"name"`
	Result string `json:"result"`           // ok, problem or skipped
	Detail string `json:"detail,omitempty"` // thing that was checked, or the reason why it was not
}

// Finding is one problem or warning.
type Finding struct {
	Check    string `json:"check"`
	Severity string `json:"severity"` // problem or warning
	Place
	Key      string `json:"key,omitempty"`      // key of WORKFLOW.md
	Category string `json:"category,omitempty"` // category in logs and reports
	Message  string `json:"message"`            // fault and remedy
	Advice   string `json:"advice,omitempty"`   // remedy alone, if a part of the message has it
}

// Place locates a finding. An unknown part is empty or 0.
type Place struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// String returns the place as compilers write it, with a colon and a space at its end.
func (p Place) String() string {
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

// maxFindingText bounds a message, in characters.
const maxFindingText = 2000

// Add records a finding, and prints it. It may be called by several goroutines.
func (r *Report) Add(f Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.Message = text.OneLine(r.redact(f.Message), maxFindingText)
	f.File, f.Key = text.OneLine(f.File, maxFindingText), text.OneLine(f.Key, maxFindingText)
	f.Advice = text.OneLine(r.redact(f.Advice), maxFindingText)
	r.Findings = append(r.Findings, f)
	r.print(f.Severity, f.Check, f.Place.String()+f.Message)
}

// Warn records a warning without a place.
func (r *Report) Warn(check, text string) {
	r.Add(Finding{Check: check, Severity: Warning, Message: text})
}

// Fail records each line of an error as a problem; each line of a joined error is one.
func (r *Report) Fail(check string, err error) {
	var problems prompt.Problems
	var malformed *tracker.MalformedError
	switch {
	case errors.As(err, &problems):
		for _, p := range problems {
			r.Add(Finding{check, Problem, Place{r.Workflow, p.Line, 0}, "", p.Category.Error(), p.Category.Error() + ": " + p.Reason, advice(p.Reason)})
		}
	case errors.As(err, &malformed):
		for _, m := range malformed.Records {
			r.Malformed(check, m)
		}
	default:
		for line := range strings.Lines(err.Error()) {
			if line = strings.TrimSpace(line); line != "" {
				r.Add(Finding{Check: check, Severity: Problem, Message: line})
			}
		}
	}
}

// Setting records a problem of the workflow file, or a warning about it.
func (r *Report) Setting(severity string, p workflow.Problem) {
	category := ""
	if p.Category != nil {
		category = p.Category.Error()
	} else if severity == Problem {
		category = workflow.ErrInvalid.Error()
	}
	r.Add(Finding{"workflow", severity, Place{r.Workflow, p.Line, p.Column}, p.Key, category, p.Text(), advice(p.Reason)})
}

func advice(reason string) string {
	_, todo, _ := strings.Cut(reason, "; ")
	return todo
}

// Malformed records a finding about a record of the tracker that cannot be converted to
// an issue, with its file if it has one.
func (r *Report) Malformed(check string, m tracker.Malformed) {
	f := Finding{Check: check, Severity: Problem, Message: m.String()}
	if r.Issues != "" && m.ID != "" {
		f.Message = m.Reason // the file has the name of the issue
		f.File = filepath.Join(r.Issues, string(m.ID)+".md")
	}
	r.Add(f)
}

// Run makes a check and prints its detail, if it found no problem.
func (r *Report) Run(name string, do func() (detail string, err error)) {
	before := r.problems()
	detail, err := do()
	if err != nil {
		r.Fail(name, err)
	}
	if r.problems() > before {
		r.Checks = append(r.Checks, Check{name, Problem, ""})
		return
	}
	r.end(name, ok, detail)
}

// Skip records why a check was not made.
func (r *Report) Skip(name, why string) { r.end(name, skipped, why) }

func (r *Report) end(name, result, detail string) {
	detail = text.OneLine(r.redact(detail), maxFindingText)
	r.Checks = append(r.Checks, Check{name, result, detail})
	r.print(result, name, detail)
}

func (r *Report) problems() int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == Problem {
			n++
		}
	}
	return n
}

// End sets OK. It returns the names of the checks that found problems.
func (r *Report) End() (failed []string) {
	for _, c := range r.Checks {
		if c.Result == Problem {
			failed = append(failed, c.Name)
		}
	}
	r.OK = r.problems() == 0
	return failed
}

// Log returns the log of an adapter during a check: its warnings are findings, except those
// about requests that are sent again.
func (r *Report) Log(check string) *slog.Logger { return slog.New(warnings{r, check}) }

// warnings is the handler of such a log.
type warnings struct {
	found *Report
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
	w.found.Warn(w.check, text)
	return nil
}

func (w warnings) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w warnings) WithGroup(string) slog.Handler      { return w }
