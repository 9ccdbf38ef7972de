package linear

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
