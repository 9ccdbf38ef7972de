package linear

import (
	"slices"
	"strings"
	"unicode"

	"github.com/symphony-runner/symphony/tracker"
)

// listFilter returns the filter for the issues of the project in any of the states.
// A list of candidates is also filtered by the assignee and the labels of the
// settings. The local type has the name that the GraphQL client writes for the type
// of the variable.
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

// filtersCandidates reports whether a list of the states holds only candidates. A
// list with terminal states is not filtered: it is used to clean up, also after the
// issue was assigned to somebody else or lost its label.
func (r *reader) filtersCandidates(states []string) bool {
	return !slices.ContainsFunc(r.cfg.TerminalStates, func(t string) bool { return slices.Contains(states, tracker.NormalState(t)) })
}

// labelFilter returns one condition for each required label, so that issues without
// it are not read in every poll. The scheduler checks the labels of the others
// again.
func (c Config) labelFilter() []any {
	var conditions []any
	for _, label := range c.RequiredLabels {
		if strings.ContainsFunc(label, casedBeyondASCII) {
			continue // it is not known which of these letters Linear treats as equal
		}
		name := map[string]any{"name": map[string]any{"eqIgnoreCase": label}}
		conditions = append(conditions, map[string]any{"labels": map[string]any{"some": name}})
	}
	return conditions
}

// casedBeyondASCII reports whether r is a letter outside ASCII that has two cases.
func casedBeyondASCII(r rune) bool { return r > unicode.MaxASCII && unicode.SimpleFold(r) != r }

// assigneeFilter returns the filter by the configured assignee for a list of
// candidates, nil when there is none. The candidate query of SPEC §11.2 filters only
// by project and state. This one differs on purpose: other people's issues would be
// read in every poll, and none of them could start. Claims are read by id, without
// this filter, so an issue that is assigned to somebody else is still seen, with the
// reason why its session has to stop.
func (r *reader) assigneeFilter() map[string]any {
	switch r.cfg.Assignee {
	case "":
		return nil
	case me:
		return map[string]any{"isMe": map[string]any{"eq": true}}
	}
	return map[string]any{"id": map[string]any{"eq": r.cfg.Assignee}}
}

// assigneeDenial returns the reason why an issue of this assignee must not be worked on, "" when
// it may be.
func (c Config) assigneeDenial(assignee *assigneeNode) string {
	switch {
	case c.Assignee == "":
		return ""
	case assignee == nil:
		return "is assigned to nobody, and tracker.provider.assignee is set"
	case c.Assignee == me && assignee.IsMe, c.Assignee == assignee.ID:
		return ""
	}
	return "is assigned to somebody other than tracker.provider.assignee"
}
