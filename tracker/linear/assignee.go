package linear

import (
	"slices"

	"github.com/symphony-runner/symphony/tracker"
)

// assigneeFilter narrows a list to the configured assignee; nil is everybody.
// A list of finished issues is not narrowed: it is for cleaning up, also after
// somebody who took an issue over.
func (r *reader) assigneeFilter(states []string) map[string]any {
	terminal := func(state string) bool {
		return slices.ContainsFunc(r.cfg.TerminalStates, func(t string) bool { return tracker.NormalState(t) == state })
	}
	switch {
	case r.cfg.Assignee == "" || slices.ContainsFunc(states, terminal):
		return nil
	case r.cfg.Assignee == me:
		return map[string]any{"isMe": map[string]any{"eq": true}}
	}
	return map[string]any{"id": map[string]any{"eq": r.cfg.Assignee}}
}

// takes says whether an issue of this assignee may be worked on, or why not.
func (c Config) takes(assignee *assigneeNode) (bool, string) {
	switch {
	case c.Assignee == "":
		return true, ""
	case assignee == nil:
		return false, "is assigned to nobody, and tracker.provider.assignee is set"
	case c.Assignee == me && assignee.IsMe, c.Assignee == assignee.ID:
		return true, ""
	}
	return false, "is assigned to somebody else than tracker.provider.assignee"
}
