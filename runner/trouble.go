package runner

import "slices"

// maxRemarks bounds the errors and the warnings that a run keeps for its report: a
// service goes on for months.
const maxRemarks = 100

// problem is an error that a person must do something about, as long as it lasts.
type problem struct {
	source source
	text   string
}

// source is what an error comes from. It is over when its source works again.
type source int

const (
	trackerUnread   source = iota // until a poll succeeds
	workflowInvalid               // until WORKFLOW.md can be used
	agentStopped                  // until the pause that it began is over
)

// problem keeps an error for the report, once: polls and sessions repeat each other.
func (l *loop) problem(from source, text string) {
	if t := (problem{from, text}); !slices.Contains(l.problems, t) && len(l.problems) < maxRemarks {
		l.problems = append(l.problems, t)
	}
}

// resolve makes warnings of the errors of a source that works again.
func (l *loop) resolve(from source) {
	l.problems = slices.DeleteFunc(l.problems, func(t problem) bool {
		if t.source == from {
			l.warn("over now: " + t.text)
		}
		return t.source == from
	})
}

// errors returns what a person must still do something about.
func (l *loop) errors() []string {
	var texts []string
	for _, t := range l.problems {
		if !slices.Contains(texts, t.text) {
			texts = append(texts, t.text)
		}
	}
	return texts
}

// warn puts warnings into the report, each once. It reports whether any is new.
func (l *loop) warn(warnings ...string) (added bool) {
	for _, w := range warnings {
		if !slices.Contains(l.tick.Warnings, w) && len(l.tick.Warnings) < maxRemarks {
			l.tick.Warnings = append(l.tick.Warnings, w)
			added = true
		}
	}
	return added
}
