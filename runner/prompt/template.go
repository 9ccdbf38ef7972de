package prompt

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/osteele/liquid"
	"github.com/osteele/liquid/expressions"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/tracker"
)

// The categories of SPEC §5.5. Both fail the attempt that meets them, and
// nothing else.
var (
	// ErrParse: the template is not valid Liquid, or uses a tag that is refused here.
	ErrParse = errors.New("template_parse_error")
	// ErrRender: an unknown name or filter, a value that cannot be used as it
	// is, or too much work.
	ErrRender = errors.New("template_render_error")
)

// maxChars is the length of the longest prompt, in characters. Codex refuses
// longer input.
const maxChars = 1 << 20

// Fits reports whether Codex takes a text.
func Fits(text string) bool { return utf8.RuneCountInString(text) <= maxChars }

// fallback is the prompt of a workflow without a body (SPEC §5.4).
const fallback = `You are working on an issue from the tracker: {{ issue.identifier }}, {{ issue.title }}
{%- if issue.description %}

{{ issue.description }}
{%- endif %}
`

// Template is a parsed prompt. It is immutable, and safe for concurrent use.
type Template struct {
	source string // source, rewritten for the engine
	line   int    // line of the file on which the source begins
	err    error  // result of Check
	// printsFeedback says that the template names the feedback itself, so that Render
	// does not add it.
	printsFeedback bool
}

// Problem describes an error on one line of a template.
type Problem struct {
	Line     int    // 0 when it is not known
	Reason   string // the error and the advice
	Category error  // ErrParse or ErrRender
}

// Error returns category, line and reason.
func (p Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("prompt: %v: %s", p.Category, p.Reason)
	}
	return fmt.Sprintf("prompt: %v: line %d: %s", p.Category, p.Line, p.Reason)
}

func (p Problem) Unwrap() error { return p.Category }

// Problems holds all problems of one template, in the order of their lines.
type Problems []Problem

// Error returns each problem on a line of its own.
func (ps Problems) Error() string { return errors.Join(ps.Unwrap()...).Error() }

// Unwrap returns the problems for errors.Is.
func (ps Problems) Unwrap() []error {
	list := make([]error, len(ps))
	for i, p := range ps {
		list[i] = p
	}
	return list
}

// ParseAt reads a template; a blank source gives a minimal default. With a syntax error it
// fails with all [Problems], of which one at least is an [ErrParse]. Unknown names and
// filters alone are reported by [Template.Check] and [Template.Render], since SPEC §5.5
// counts them as failures of a render. The template begins on this line of a file, from
// whose first line errors count; line 0 counts as 1.
func ParseAt(source string, line int) (*Template, error) {
	line = max(line, 1)
	if strings.TrimSpace(source) == "" {
		source = fallback
	}
	if len(source) > maxChars {
		return nil, Problems{{0, fmt.Sprintf("the template has %d bytes; shorten it to %d", len(source), maxChars), ErrParse}}
	}
	source = strings.ToValidUTF8(source, "\uFFFD")
	rewritten, names, problems := check(source, line)
	if !errors.Is(problems, ErrParse) {
		err := withEngine(func(e *liquid.Engine) error {
			_, err := compile(e, source, "", line)
			return err
		})
		if err != nil {
			problems = append(problems, syntaxProblem(err))
		}
	}
	if errors.Is(problems, ErrParse) {
		return nil, problems
	}
	t := &Template{source: rewritten, line: line, printsFeedback: names[feedbackVariable]}
	if len(problems) > 0 {
		t.err = problems
	}
	return t, nil
}

// syntaxProblem returns the problem that the engine has with a source.
func syntaxProblem(err error) Problem {
	p := Problem{0, err.Error(), ErrParse}
	if failure, ok := errors.AsType[liquid.SourceError](err); ok {
		p.Line = failure.LineNumber()
	}
	return p
}

// Check reports every unknown name and filter, and every value in a place that
// it does not fit, as [ErrRender]. Every Render of the template fails with it.
func (t *Template) Check() error { return t.err }

// Run describes the attempt that a prompt is rendered for.
type Run struct {
	Attempt       int    // 0 is the first run, and null to the template; 1 and above is a retry or a continuation (SPEC §12.3)
	Resumed       bool   // the session continues the thread of an earlier one
	WorkspaceKept bool   // the session works in the folder that an earlier one left, and it has lost nothing
	Refused       string // reasons why the work of the last session was not published, in Markdown; empty if it was
	Blocked       string // hosts that commands of the last session were refused, in one line of Markdown; empty for none
	LeftOut       string // files of the last session that could not be taken along with its work, in one line; empty for none

	// Branch is the branch of a workspace that the host fills, and Base the one that its
	// work is for; empty if hooks fill it.
	Branch, Base string
	Aside        []string // branches with work of earlier sessions that Branch does not have
	Submodules   bool     // there are submodules in such a workspace
	Delivers     bool     // the work is taken from such a workspace, and there is the tool deliver

	Feedback    []Feedback // unanswered feedback on the work, oldest first
	Replies     bool       // there is the tool reply
	Asks        bool       // there is the tool ask
	Loopback    bool       // each command has a loopback of its own and no other network
	UnixSockets bool       // commands may open Unix sockets of their own
	Hosts       []string   // hosts that commands also reach
	Services    []string   // services of this machine that commands also reach, such as localhost:5432
	Prepared    bool       // the project is prepared, and there is the tool setup
}

// Render returns the prompt for one attempt. A preamble before the text of the template
// describes a resumed thread, refused work and a workspace of the host, as far as they apply.
// Feedback comes after it, unless the template names it. Invalid UTF-8 in the issue becomes
// U+FFFD. Errors are [ErrRender].
func (t *Template) Render(issue tracker.Issue, run Run) (string, error) {
	if t.err != nil {
		return "", t.err
	}
	var text string
	err := withEngine(func(e *liquid.Engine) (err error) {
		text, err = t.execute(e, bindings(issue, run))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("prompt: %w: %w", ErrRender, err)
	}
	text = preamble(issue, run) + text
	if !t.printsFeedback {
		text += feedbackBlock(issue, run)
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if n := utf8.RuneCountInString(text); n > maxChars {
		return "", fmt.Errorf("prompt: %w: the prompt of %s has %d characters and may have %d; "+
			"shorten what it prints, e.g. {{ issue.description | truncate: 20000 }}", ErrRender, issue.Identifier, n, maxChars)
	}
	return text, nil
}

// Check returns the [Problems] of a template that do not depend on the issue; nil for none.
// The source begins on a line of a file.
func Check(source string, line int) error {
	t, err := ParseAt(source, line)
	if err != nil {
		return err
	}
	return t.Check()
}

// compile parses a source with the engine. With a path, errors name the innermost
// line; without one they quote the source.
func compile(e *liquid.Engine, source, path string, line int) (template *liquid.Template, err error) {
	defer recovered(&err)
	template, failure := e.ParseTemplateLocation([]byte(source), path, line)
	if failure != nil {
		return nil, failure
	}
	return template, nil
}

func (t *Template) execute(e *liquid.Engine, vars map[string]any) (_ string, err error) {
	defer recovered(&err)
	template, err := compile(e, t.source, "prompt", t.line)
	if err != nil {
		return "", err
	}
	var s output
	failure := template.FRender(&s, vars)
	if failure == nil {
		return s.String(), nil
	}
	why := failure.Error()
	if filter, ok := errors.AsType[expressions.FilterError](failure.Cause()); ok {
		why = fmt.Sprintf("line %d: filter %q: %v", failure.LineNumber(), filter.FilterName, filter.Err)
	} else if failure.Cause() != nil {
		why = fmt.Sprintf("line %d: %v", failure.LineNumber(), failure.Cause())
	}
	// The engine quotes values whole, and a value can be as long as an issue.
	return "", fmt.Errorf("%s; change this line of the template", text.Truncate(why, 300))
}

// recovered turns a panic of the engine into an error. The engine wraps some
// panics into a value whose text is a stack trace; the error is its cause.
func recovered(err *error) {
	switch r := recover().(type) {
	case nil:
	case interface{ Cause() error }:
		*err = r.Cause()
	case error:
		*err = r
	default:
		*err = fmt.Errorf("the template engine gave up: %v", r)
	}
}
