package github

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/symphony-runner/symphony/tracker"
)

// issues makes issues of records, in their order: all of them, or those in the
// wanted states. Only those that could be worked on cost more requests.
func (r *repository) issues(ctx context.Context, records []*record, wanted map[string]bool) ([]tracker.Issue, error) {
	board, err := r.board(ctx, records)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(records, func(rec *record) bool { return len(r.states.labelled(rec.names())) > 0 }) {
		r.sawLabel()
	}
	var issues []tracker.Issue
	var candidates []candidate
	for _, rec := range records {
		status, there := board[rec.GetNodeID()]
		if r.states.board && rec.open() && !there {
			continue // deleted since it was listed
		}
		issue, why := r.normalise(rec, status)
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
		return nil, err
	}
	if err := r.trust.admit(ctx, candidates, issues); err != nil {
		return nil, err
	}
	return issues, nil
}

// candidate is a record that could be worked on and where its issue stands.
type candidate struct {
	*record
	at int
}

// normalise is SPEC §11.3. The reason is why the issue is no candidate, as far
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

// priority is the highest that a label gives; 1 is the highest of all.
func (r *repository) priority(labels []string) *int {
	var best *int
	for _, label := range labels {
		if n, ok := r.cfg.PriorityLabels[label]; ok && (best == nil || n < *best) {
			best = &n
		}
	}
	return best
}
