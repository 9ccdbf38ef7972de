package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	gh "github.com/google/go-github/v62/github"
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

// record is an issue as the REST API gives it. It is shared by reads that run
// at the same time and never changed.
type record struct {
	gh.Issue
	// Dependencies is nil on a server that knows of none.
	Dependencies *dependencies `json:"issue_dependencies_summary"`
}

type dependencies struct {
	BlockedBy      int `json:"blocked_by"` // open ones
	TotalBlockedBy int `json:"total_blocked_by"`
}

// check says why the record is no issue that could be worked on.
func (r *record) check() error {
	switch {
	case r == nil:
		return errors.New("it is null")
	case r.GetNumber() <= 0:
		return errors.New("it has no number")
	case r.GetNodeID() == "":
		return errors.New("it has no node_id")
	case strings.TrimSpace(r.GetTitle()) == "":
		return errors.New("it has no title")
	case r.GetState() != stateOpen && r.GetState() != stateClosed:
		return fmt.Errorf("its state %q is neither %q nor %q", clip(r.GetState()), stateOpen, stateClosed)
	}
	return nil
}

// number returns 0 for a record that is null or has none.
func (r *record) number() int {
	if r == nil {
		return 0
	}
	return r.GetNumber()
}

func (r *record) open() bool { return r.GetState() == stateOpen }

// names returns the names of its labels as they are written.
func (r *record) names() []string {
	names := make([]string, len(r.Labels))
	for i, l := range r.Labels {
		names[i] = l.GetName()
	}
	return names
}

// labels returns the names of its labels in normal form, each once.
func (r *record) labels() []string {
	labels := make([]string, 0, len(r.Labels))
	for _, name := range r.names() {
		label := tracker.NormalLabel(name)
		if label != "" && !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	return labels
}

// malformed returns the record of a number, 0 when it does not say, as one that
// is malformed for a reason.
func malformed(number int, why error) tracker.Malformed {
	m := tracker.Malformed{Why: clip(why.Error()) + ": look at it on GitHub"}
	if number > 0 {
		m.ID, m.Identifier = tracker.ID(strconv.Itoa(number)), identifier(number)
	}
	return m
}

// decodeRecords reads a list. Malformed records are apart, each with the reason.
func decodeRecords(a answer) (records []*record, spoilt []tracker.Malformed, err error) {
	keep := func(r *record, err error) {
		if err == nil {
			err = r.check()
		}
		if err == nil {
			records = append(records, r)
			return
		}
		spoilt = append(spoilt, malformed(r.number(), err))
	}
	var all []*record
	if err := a.decode(&all); err == nil {
		for _, r := range all {
			keep(r, nil)
		}
		return records, spoilt, nil
	}
	// Something in there has the wrong type: find out what, record by record.
	var each []json.RawMessage
	if err := a.decode(&each); err != nil {
		return nil, nil, err
	}
	for _, raw := range each {
		var r *record
		err := json.Unmarshal(raw, &r)
		keep(r, err)
	}
	return records, spoilt, nil
}

// repository returns owner/name of where the record is, by its address in the API.
func (r *record) repository() string {
	_, name, _ := strings.Cut(r.GetRepositoryURL(), "/repos/")
	return name
}
