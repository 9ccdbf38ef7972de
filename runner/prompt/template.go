package prompt

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/osteele/liquid"
	"github.com/osteele/liquid/expressions"

	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/untrusted"
)

// The categories of SPEC §5.5. Both fail the attempt that meets them, and
// nothing else.
var (
	// ErrParse: the template is not valid Liquid, or uses what is refused here.
	ErrParse = errors.New("template_parse_error")
	// ErrRender: an unknown name or filter, a value that cannot be used as it
	// is, or too much work.
	ErrRender = errors.New("template_render_error")
)

// maxChars is the length of the longest prompt, in characters. Codex refuses
// longer input.
const maxChars = 1 << 20

// fallback is the prompt of a workflow without a body (SPEC §5.4).
const fallback = `You are working on an issue from the tracker: {{ issue.identifier }}, {{ issue.title }}
{%- if issue.description %}

{{ issue.description }}
{%- endif %}
`

// Template is a parsed prompt. It is immutable, and safe for concurrent use.
type Template struct {
	source string // rewritten for the engine
	err    error  // returned by Check
	// printsFeedback says that the template names the feedback, so that nothing else has to
	// tell the agent of it.
	printsFeedback bool
}

// Parse reads a template; a blank source gives a minimal default. A syntax error
// is an [ErrParse]. Unknown names and filters are reported by [Template.Check]
// and [Template.Render], since SPEC §5.5 counts them as failures of a render.
// Errors count lines from the first line of source.
func Parse(source string) (*Template, error) {
	if strings.TrimSpace(source) == "" {
		source = fallback
	}
	if len(source) > maxChars {
		return nil, fmt.Errorf("prompt: %w: the template has %d bytes; shorten it to %d", ErrParse, len(source), maxChars)
	}
	source = strings.ToValidUTF8(source, "\uFFFD")
	rewritten, names, problems, err := check(source)
	if err == nil {
		err = withEngine(func(e *liquid.Engine) error {
			_, err := compile(e, source, "")
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("prompt: %w: %w", ErrParse, err)
	}
	for i, problem := range problems {
		problems[i] = fmt.Errorf("prompt: %w: %w", ErrRender, problem)
	}
	return &Template{rewritten, errors.Join(problems...), names[feedbackVariable]}, nil
}

// Check reports every unknown name and filter, and every value in a place that
// it does not fit, as [ErrRender]. Every Render of the template fails with it.
func (t *Template) Check() error { return t.err }

// Run describes the attempt that a prompt is rendered for.
type Run struct {
	Attempt       int    // 0 is the first run, and null to the template; 1 and above is a retry or a continuation (SPEC §12.3)
	Resumed       bool   // the session continues the thread of an earlier one
	WorkspaceKept bool   // the session works in the folder that an earlier one left, and nothing that was in it is lost
	Refused       string // why the work of the last session was not published, in Markdown; empty if it was

	// Branch is the branch of a workspace that the host fills, and Base the one that its
	// work is for; empty if hooks fill it.
	Branch, Base string
	Uncommitted  bool     // what the last session committed in a kept workspace is there as changes
	Aside        []string // branches with work of earlier sessions that Branch does not have
	Submodules   bool     // there are submodules in such a workspace
	Delivers     bool     // the work is taken from such a workspace, and there is the tool deliver

	Feedback []Feedback // what was said about the work and nobody has answered, oldest first
	Replies  bool       // there is the tool reply
	Asks     bool       // there is the tool ask
}

// Render returns the prompt for one attempt. Before the text of the template a preamble
// says that the thread is resumed, what became of refused work, and what a workspace of
// the host is, as far as that applies. After it stands the feedback, if there is some and
// the template does not name it. Invalid UTF-8 in the issue becomes U+FFFD. Errors are
// [ErrRender].
func (t *Template) Render(issue tracker.Issue, run Run) (string, error) {
	if t.err != nil {
		return "", t.err
	}
	var text string
	err := withEngine(func(e *liquid.Engine) (err error) {
		text, err = execute(e, t.source, bindings(issue, run))
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

// Check reports what is wrong with a template whatever the issue, as [ErrParse]
// or [ErrRender].
func Check(source string) error {
	t, err := Parse(source)
	if err != nil {
		return err
	}
	return t.Check()
}

// compile parses a source with the engine. With a path, errors name the innermost
// line; without one they quote the source.
func compile(e *liquid.Engine, source, path string) (template *liquid.Template, err error) {
	defer recovered(&err)
	template, failure := e.ParseTemplateLocation([]byte(source), path, 1)
	if failure != nil {
		return nil, failure
	}
	return template, nil
}

func execute(e *liquid.Engine, source string, vars map[string]any) (_ string, err error) {
	defer recovered(&err)
	template, err := compile(e, source, "prompt")
	if err != nil {
		return "", err
	}
	var text output
	failure := template.FRender(&text, vars)
	if failure == nil {
		return text.String(), nil
	}
	why := failure.Error()
	if filter, ok := errors.AsType[expressions.FilterError](failure.Cause()); ok {
		why = fmt.Sprintf("line %d: filter %q: %v", failure.LineNumber(), filter.FilterName, filter.Err)
	} else if failure.Cause() != nil {
		why = fmt.Sprintf("line %d: %v", failure.LineNumber(), failure.Cause())
	}
	// The engine quotes values whole, and a value can be as long as an issue.
	return "", fmt.Errorf("%s; change this line of the template", untrusted.Truncate(why, 300))
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
