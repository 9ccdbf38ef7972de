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

// states knows how an issue's state is found out.
type states struct {
	board            bool
	prefix           string // of labels; "" without them
	active, terminal []string
}

func newStates(cfg Config) states {
	s := states{board: cfg.Project != nil, active: normal(cfg.Active), terminal: normal(cfg.Terminal)}
	if !s.board {
		s.prefix = cfg.StateLabelPrefix
	}
	return s
}

func normal(names []string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = tracker.NormalState(name)
	}
	return list
}

// list names the one list that holds every issue in the wanted states: closed
// issues, and they alone, are closed. It is "" when there can be none.
func (s states) list(wanted map[string]bool) string {
	closed, open := wanted[stateClosed], wanted[stateOpen]
	if s.board || s.prefix != "" {
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

// of returns the state of an issue, and why it cannot be relied upon. An open issue
// without a status is open. The status is the one on the board.
func (s states) of(r *record, status string) (state, why string) {
	if !r.open() {
		return stateClosed, ""
	}
	names := s.labelled(r.names())
	if s.board && status != "" {
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

// labelled returns the states that labels give, as they are written.
func (s states) labelled(labels []string) []string {
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

// rank orders contradicting states so that a terminal one, which would remove
// the workspace, never wins: active ones first, as the workflow lists them.
func (s states) rank(name string) int {
	name = tracker.NormalState(name)
	if i := slices.Index(s.active, name); i >= 0 {
		return i
	}
	if i := slices.Index(s.terminal, name); i >= 0 {
		return len(s.active) + 1 + i
	}
	return len(s.active)
}

func (s states) isActive(name string) bool {
	return slices.Contains(s.active, tracker.NormalState(name))
}
