package runner

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/symphony-runner/symphony/runner/progress"
)

// maxRemarks bounds the errors and warnings that a run keeps for its report: a
// service runs for months.
const maxRemarks = 100

// remarks holds the messages of a run apart from its issues: warnings, notices, and the errors
// that last.
type remarks struct {
	log      *slog.Logger
	warnings []string
	notices  []string
	problems []problem
}

// problem is an error that lasts until its source works again.
type problem struct {
	source progress.Source
	text   string
}

// problem adds an error to the report, once: polls and sessions repeat each
// other.
func (r *remarks) problem(from progress.Source, text string) {
	if t := (problem{from, text}); !slices.Contains(r.problems, t) && len(r.problems) < maxRemarks {
		r.problems = append(r.problems, t)
	}
}

// resolve turns the errors of a source that works again into warnings.
func (r *remarks) resolve(from progress.Source) {
	r.problems = slices.DeleteFunc(r.problems, func(t problem) bool {
		if t.source == from {
			r.warn("over now: " + t.text)
		}
		return t.source == from
	})
}

func (r *remarks) replace(from progress.Source, text string) {
	r.problems = slices.DeleteFunc(r.problems, func(t problem) bool { return t.source == from })
	r.problem(from, text)
}

func (r *remarks) errors() []string {
	var texts []string
	for _, t := range r.problems {
		if !slices.Contains(texts, t.text) {
			texts = append(texts, t.text)
		}
	}
	return texts
}

// warn adds warnings to the report, each once, and reports whether any is new.
func (r *remarks) warn(warnings ...string) (added bool) { return addOnce(&r.warnings, warnings) }

// notice adds a remark to the report, once, that people should know and that is no failure.
func (r *remarks) notice(text string) { addOnce(&r.notices, []string{text}) }

// addOnce adds remarks that a list does not have, and reports whether there was any.
func addOnce(list *[]string, remarks []string) (added bool) {
	for _, text := range remarks {
		if !slices.Contains(*list, text) && len(*list) < maxRemarks {
			*list = append(*list, text)
			added = true
		}
	}
	return added
}

func (r *remarks) warnError(what string, err error) {
	r.warn(fmt.Sprintf("%s: %v", what, err))
	r.log.Warn(what+" failed: continuing without it", "error", err)
}
