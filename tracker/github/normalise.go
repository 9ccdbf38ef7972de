package github

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/symphony-runner/symphony/tracker"
)

// issues makes issues of records, in their order: all of them, or those in the
// wanted states. Only those that could be worked on cost more requests. A record
// whose place on the board cannot be told is malformed.
func (r *repository) issues(ctx context.Context, records []*record, wanted map[string]bool) (issues []tracker.Issue, spoilt []tracker.Malformed, err error) {
	board, err := r.board(ctx, records)
	if err != nil {
		return nil, nil, err
	}
	if slices.ContainsFunc(records, func(rec *record) bool { return len(r.states.labelled(rec.names())) > 0 }) {
		r.sawLabel()
	}
	var candidates []candidate
	for _, rec := range records {
		at, there := board[rec.GetNodeID()]
		if r.states.board && rec.open() && !there {
			continue // deleted since it was listed
		}
		if at.spoilt != nil {
			spoilt = append(spoilt, malformed(rec.GetNumber(), at.spoilt))
			continue
		}
		issue, why := r.normalise(rec, at.status)
		if wanted != nil && !wanted[tracker.NormalState(issue.State)] {
			continue
		}
		if why == "" {
			why = r.trust.outsider(rec)
		}
		if why == "" {
			candidates = append(candidates, candidate{rec, len(issues)})
		}
		issue.Why = why
		issues = append(issues, issue)
	}
	candidates, err = r.block(ctx, candidates, issues)
	if err != nil {
		return nil, nil, err
	}
	if err := r.trust.admit(ctx, candidates, issues); err != nil {
		return nil, nil, err
	}
	return issues, spoilt, nil
}

// candidate is a record that could be worked on and where its issue stands.
type candidate struct {
	*record
	at int
}

// normalise returns the issue of SPEC §11.3. The reason is why it is no candidate, as far
// as its record tells.
func (r *repository) normalise(rec *record, status string) (tracker.Issue, string) {
	labels := rec.labels()
	state, why := r.states.of(rec, status)
	issue := tracker.Issue{
		ID:          tracker.ID(strconv.Itoa(rec.GetNumber())),
		Identifier:  identifier(rec.GetNumber()),
		Title:       rec.GetTitle(),
		Description: rec.GetBody(),
		State:       state,
		Priority:    r.priority(labels),
		URL:         rec.GetHTMLURL(),
		AssigneeID:  rec.GetAssignee().GetLogin(),
		Labels:      labels,
		NativeRef:   map[string]string{"number": strconv.Itoa(rec.GetNumber()), "node_id": rec.GetNodeID(), "repository": r.cfg.Repo},
		CreatedAt:   rec.GetCreatedAt().Time,
		UpdatedAt:   rec.GetUpdatedAt().Time,
	}
	label, lacks := r.cfg.lacking(labels)
	switch {
	case why != "":
	case !rec.open():
		why = "it is closed"
	case !r.states.isActive(state):
		why = fmt.Sprintf("its state %q is not an active one", state)
	case lacks:
		why = fmt.Sprintf("it lacks the required label %q", label)
	}
	return issue, why
}

// priority returns the highest priority that a label gives; 1 is the highest of all.
func (r *repository) priority(labels []string) *int {
	var best *int
	for _, label := range labels {
		if n, ok := r.cfg.PriorityLabels[label]; ok && (best == nil || n < *best) {
			best = &n
		}
	}
	return best
}
