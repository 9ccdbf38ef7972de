package linear

import (
	"slices"
	"strings"
	"unicode"

	"github.com/symphony-runner/symphony/tracker"
)

// listFilter selects the issues of the project in any of the states, and of
// candidates those that the workflow's assignee and labels leave. Its local type
// has the name that the GraphQL client writes for the type of the variable.
func (r *reader) listFilter(states []string) any {
	type IssueFilter map[string]any
	var names []any
	for _, state := range states {
		names = append(names, map[string]any{"name": map[string]any{"eqIgnoreCase": state}})
	}
	filter := IssueFilter{
		"project": map[string]any{"slugId": map[string]any{"eq": r.cfg.ProjectSlug}},
		"state":   map[string]any{"or": names},
	}
	if !r.filtersCandidates(states) {
		return filter
	}
	if assignee := r.assigneeFilter(); assignee != nil {
		filter["assignee"] = assignee
	}
	if labels := r.cfg.labelFilter(); labels != nil {
		filter["and"] = labels
	}
	return filter
}

// filtersCandidates reports whether a list holds candidates alone. One that has finished
// issues in it is whole: it is for cleaning up, also after somebody took an issue
// over or the label came off.
func (r *reader) filtersCandidates(states []string) bool {
	return !slices.ContainsFunc(r.cfg.TerminalStates, func(t string) bool { return slices.Contains(states, tracker.NormalState(t)) })
}

// labelFilter returns one condition for each required label. Issues that lack one
// would otherwise be paged through at every poll; the scheduler checks the labels
// of those that are left.
func (c Config) labelFilter() []any {
	var conditions []any
	for _, label := range c.RequiredLabels {
		if strings.ContainsFunc(label, casedBeyondASCII) {
			continue // what Linear takes for the same letter there is not known
		}
		name := map[string]any{"name": map[string]any{"eqIgnoreCase": label}}
		conditions = append(conditions, map[string]any{"labels": map[string]any{"some": name}})
	}
	return conditions
}

// casedBeyondASCII reports whether a letter that is not of ASCII has another case.
func casedBeyondASCII(r rune) bool { return r > unicode.MaxASCII && unicode.SimpleFold(r) != r }

// assigneeFilter returns the filter for the configured assignee in a list of
// candidates; nil is everybody. The candidate query of SPEC §11.2 filters by
// project and state alone, and this one differs on purpose: the issues of others
// would be paged through at every poll, and none of them could start. Claims are
// read by id, without this filter, so an issue that was given to somebody else is
// still seen, with the reason why its session has to end.
func (r *reader) assigneeFilter() map[string]any {
	switch r.cfg.Assignee {
	case "":
		return nil
	case me:
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
