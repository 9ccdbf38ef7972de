package workflow

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
)

// The categories of workflow errors; their text is the category that logs and
// reports show (SPEC §5.5). Each package declares its own; wrong tracker settings are
// also found under the categories of package tracker.
var (
	// ErrMissingFile: the file cannot be read.
	ErrMissingFile = errors.New("missing_workflow_file")
	// ErrParse: the file is not text, or its front matter is not YAML.
	ErrParse = errors.New("workflow_parse_error")
	// ErrNotAMap: the front matter is YAML, but not a map.
	ErrNotAMap = errors.New("workflow_front_matter_not_a_map")
	// ErrInvalid: values of the front matter are wrong or missing; see [Problems].
	ErrInvalid = errors.New("invalid_workflow_config")
)

// Problem describes one wrong or missing value, wrong YAML (without a key or a value), or the
// subject of a warning.
type Problem struct {
	Key      string // e.g. agent.max_turns
	Value    string // value as a person would write it; empty when missing or possibly secret
	Reason   string // fault and remedy
	Line     int    // line of the key in the file, or of a section that lacks it; 0 when neither is there
	Column   int    // column of that line, from 1; 0 when it is not known
	Category error  // a narrower category than ErrInvalid; usually nil
	Unknown  bool   // nothing reads the key, so the others are as they would be without it
}

// String returns the problem on one line: line, key, value, category, reason.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Text()
	}
	return fmt.Sprintf("line %d: %s", p.Line, p.Text())
}

// Text returns the problem without its line.
func (p Problem) Text() string {
	var b strings.Builder
	b.WriteString(p.Key)
	if p.Value != "" {
		b.WriteString(" is " + p.Value)
	}
	if p.Key != "" {
		b.WriteString(": ")
	}
	if p.Category != nil {
		b.WriteString(p.Category.Error() + ": ")
	}
	b.WriteString(p.Reason)
	return b.String()
}

// Problems holds all the problems of one file, ordered by line. [errors.Is] finds
// [ErrInvalid] and the category of each problem in it.
type Problems []Problem

// Error returns the category, then each problem on a line of its own.
func (ps Problems) Error() string {
	var b strings.Builder
	b.WriteString(ErrInvalid.Error() + ":")
	for _, p := range ps {
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}

// Unwrap lists the categories for errors.Is.
func (ps Problems) Unwrap() []error {
	categories := []error{ErrInvalid}
	for _, p := range ps {
		if p.Category != nil {
			categories = append(categories, p.Category)
		}
	}
	return categories
}

// display returns a value for a message: short, on one line, without tokens that have a
// known shape, and without the content of maps and lists.
func display(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(truncate(knownTokenShapes().String(v)))
	case []any:
		return "a list"
	case map[string]any, map[any]any:
		return "a map"
	default:
		return fmt.Sprint(v)
	}
}

func truncate(s string) string { return text.Truncate(s, 60) }
