package github

import (
	"fmt"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// GitHub's own states.
const (
	stateOpen   = "open"
	stateClosed = "closed"
)

// The lists of issues that GitHub has.
const (
	listOpen   = "open"
	listClosed = "closed"
	listAll    = "all"
)

// stateSource determines the state of an issue: from its status on the board, from
// its labels, or only from whether it is open.
type stateSource struct {
	onProject        bool
	prefix           string   // beginning of the labels that give a state; "" when no label does
	active, terminal []string // the states of the workflow, in normal form
}

// newStateSource returns the source of states that cfg configures. A board takes
// precedence over state labels.
func newStateSource(cfg Config) stateSource {
	s := stateSource{onProject: cfg.Project != nil, active: normalStates(cfg.ActiveStates), terminal: normalStates(cfg.TerminalStates)}
	if !s.onProject {
		s.prefix = cfg.StateLabelPrefix
	}
	return s
}

// normalStates returns the states in the form in which they are compared.
func normalStates(names []string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = tracker.NormalState(name)
	}
	return list
}

// listFor returns the one list that holds every issue in the wanted states, or "" when no issue
// can have any of them. A closed issue is always in the state "closed", and no open issue is.
func (s stateSource) listFor(wanted map[string]bool) string {
	closed, open := wanted[stateClosed], wanted[stateOpen]
	if s.onProject || s.prefix != "" {
		open = open || len(wanted) > 1 || len(wanted) == 1 && !closed
	}
	switch {
	case open && closed:
		return listAll
	case closed:
		return listClosed
	case open:
		return listOpen
	}
	return ""
}

// stateOf returns the state of an issue, and why an agent must not work on it by
// that state ("" when it may). The status is the on the board; an open issue
// without one is "open".
func (s stateSource) stateOf(r *record, status string) (state, why string) {
	if !r.isOpen() {
		return stateClosed, ""
	}
	names := s.fromLabels(r.labelNames())
	if s.onProject && status != "" {
		names = []string{status}
	}
	if len(names) == 0 {
		return stateOpen, ""
	}
	if len(names) > 1 {
		slices.SortStableFunc(names, func(a, b string) int { return s.rank(a) - s.rank(b) })
		why = fmt.Sprintf("it has several states (%q): leave one label that begins with %q", names, s.prefix)
	}
	if tracker.NormalState(names[0]) == stateClosed {
		return stateOpen, "it is open, but its status is \"closed\": close it or change the status"
	}
	return names[0], why
}

// fromLabels returns the states that the labels give, as they are written.
func (s stateSource) fromLabels(labels []string) []string {
	if s.prefix == "" {
		return nil
	}
	var names []string
	for _, label := range labels {
		label = strings.TrimSpace(label)
		if len(label) < len(s.prefix) || !strings.EqualFold(label[:len(s.prefix)], s.prefix) {
			continue
		}
		if name := strings.TrimSpace(label[len(s.prefix):]); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// rank orders the states of an issue that has several: active states come first, as
// the workflow lists them, so that a terminal state, which would remove the
// workspace, never wins.
func (s stateSource) rank(name string) int {
	name = tracker.NormalState(name)
	if i := slices.Index(s.active, name); i >= 0 {
		return i
	}
	if i := slices.Index(s.terminal, name); i >= 0 {
		return len(s.active) + 1 + i
	}
	return len(s.active)
}
