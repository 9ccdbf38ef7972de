package runner

import "slices"

// maxRemarks bounds the errors and the warnings that a run keeps for its report: a
// service goes on for months.
const maxRemarks = 100

// trouble is an error that a person must do something about, as long as it lasts.
type trouble struct {
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

// trouble keeps an error for the report, once: polls and sessions repeat each other.
func (l *loop) trouble(from source, text string) {
	if t := (trouble{from, text}); !slices.Contains(l.troubles, t) && len(l.troubles) < maxRemarks {
		l.troubles = append(l.troubles, t)
	}
}

// over makes warnings of the errors of a source that works again.
func (l *loop) over(from source) {
	l.troubles = slices.DeleteFunc(l.troubles, func(t trouble) bool {
		if t.source == from {
			l.warn("over now: " + t.text)
		}
		return t.source == from
	})
}

// errors returns what a person must still do something about.
func (l *loop) errors() []string {
	var texts []string
	for _, t := range l.troubles {
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
