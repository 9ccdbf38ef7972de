package schedule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// blockableState is the state in which an issue waits for its blockers (SPEC §8.2).
const blockableState = "todo"

// rules is a policy in the form in which many issues are judged by it.
type rules struct {
	active, terminal map[string]bool
	labels           []string
}

func (p Policy) rules() rules {
	set := func(states []string) map[string]bool {
		m := make(map[string]bool, len(states))
		for _, state := range states {
			m[tracker.NormalState(state)] = true
		}
		return m
	}
	return rules{active: set(p.ActiveStates), terminal: set(p.TerminalStates), labels: p.RequiredLabels}
}

// IneligibleToStart says why the issue must not be worked on whatever the load (SPEC
// §8.2); the zero Why means that it may.
func (p Policy) IneligibleToStart(issue tracker.Issue) Why {
	return p.rules().ineligibleToStart(&issue)
}

// ineligibleToStart judges an issue that is to be started.
func (r rules) ineligibleToStart(issue *tracker.Issue) Why {
	if missing := issue.Missing(); missing != nil {
		return Why{Incomplete, "has no " + strings.Join(missing, ", ")}
	}
	if why := r.ineligibleToContinue(issue); !why.None() {
		return why
	}
	if tracker.NormalState(issue.State) != blockableState {
		return Why{}
	}
	for _, blocker := range issue.BlockedBy {
		if !r.terminal[tracker.NormalState(blocker.State)] {
			return Why{Blocked, "blocked by " + blocker.Name() + stateNote(blocker.State)}
		}
	}
	return Why{}
}

// ineligibleToContinue judges an issue that a session works on already.
func (r rules) ineligibleToContinue(issue *tracker.Issue) Why {
	state := tracker.NormalState(issue.State)
	switch {
	case r.terminal[state]:
		return Why{Terminal, fmt.Sprintf("is %q, a terminal state", issue.State)}
	case !r.active[state]:
		return Why{NotActive, fmt.Sprintf("is %q, not an active state", issue.State)}
	}
	for _, label := range r.labels {
		if label == "" || !slices.Contains(issue.Labels, label) {
			return Why{NotRoutable, fmt.Sprintf("lacks the required label %q", label)}
		}
	}
	if !issue.Dispatchable {
		return Why{NotDispatchable, orElse(issue.Why, "the tracker does not offer it for work")}
	}
	return Why{}
}

func stateNote(state string) string {
	if state == "" {
		return ", whose state is not known"
	}
	return " (" + state + ")"
}

func orElse(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

// IneligibleToContinue says why a session that works on the issue should not go on; the
// zero Why means that it should.
func (p Policy) IneligibleToContinue(issue tracker.Issue) Why {
	return p.rules().ineligibleToContinue(&issue)
}
