package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// toIssues returns the issues of the records in their order: all of them, or those
// in the wanted states when wanted is not nil. Only candidates cost more requests. A
// record whose status on the board is unknown is returned as malformed.
func (r *repository) toIssues(ctx context.Context, records []*record, wanted map[string]bool) (issues []tracker.Issue, malformed []tracker.Malformed, err error) {
	board, err := r.projectStatuses(ctx, records)
	if err != nil {
		return nil, nil, err
	}
	for _, rec := range records {
		r.markStateLabelsSeen(r.states.fromLabels(rec.labelNames()))
	}
	again := wanted == nil && tracker.ForFeedback(ctx)
	var candidates []candidate
	for _, rec := range records {
		at, there := board[rec.GetNodeID()]
		if r.states.onProject && rec.isOpen() && !there {
			continue // deleted after it was listed
		}
		if at.unknown != nil {
			malformed = append(malformed, newMalformed(rec.GetNumber(), at.unknown))
			continue
		}
		issue, why := r.toIssue(rec, at.name, again)
		if wanted != nil && !wanted[tracker.NormalState(issue.State)] {
			continue
		}
		if why == "" {
			candidates = append(candidates, candidate{rec, len(issues), again})
		}
		issue.WhyNot = why
		issues = append(issues, issue)
	}
	if candidates, err = r.trust.dropStrangers(ctx, candidates, issues, wanted != nil); err != nil {
		return nil, nil, err
	}
	candidates, err = r.addBlockers(ctx, candidates, issues)
	if err != nil {
		return nil, nil, err
	}
	if err := r.trust.setDispatchable(ctx, candidates, issues); err != nil {
		return nil, nil, err
	}
	return issues, malformed, nil
}

// candidate is a record that could be worked on, as far as the record itself tells.
type candidate struct {
	*record
	index int  // place of its issue in the result of toIssues
	again bool // it was worked on before, so a label that vouched for it may be off
}

// toIssue returns the normalized issue of SPEC §11.3 and the reason why it is not a
// candidate, as far as its record tells. The reason is "" for a candidate. An issue that
// is worked on again may have any state and any labels.
func (r *repository) toIssue(rec *record, status string, again bool) (tracker.Issue, string) {
	labels := rec.normalLabels()
	state, why := r.states.stateOf(rec, status)
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
	label, lacks := r.cfg.missingLabel(labels)
	switch {
	case why != "":
	case !rec.isOpen():
		why = "it is closed"
	case again:
	case !slices.Contains(r.states.active, tracker.NormalState(state)):
		why = fmt.Sprintf("its state %q is not an active one", state)
	case lacks:
		why = fmt.Sprintf("it lacks the required label %q", label)
	}
	return issue, why
}

// priority returns the highest priority that a label gives, where 1 is the highest,
// or nil when none of the labels gives one.
func (r *repository) priority(labels []string) *int {
	var best *int
	for _, label := range labels {
		if n, ok := r.cfg.PriorityLabels[label]; ok && (best == nil || n < *best) {
			best = &n
		}
	}
	return best
}

// record is an issue or a pull request as the REST API returns it. Concurrent reads
// share it, so it is never changed.
type record struct {
	client.Issue
	// Dependencies is nil on a server without issue dependencies.
	Dependencies *dependencies `json:"issue_dependencies_summary"`
}

type dependencies struct {
	BlockedBy      int `json:"blocked_by"`       // the open ones
	TotalBlockedBy int `json:"total_blocked_by"` // including closed ones
}

// validate returns an error when the record lacks a required field of an issue.
func (r *record) validate() error {
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

// number returns the issue's number, 0 for a record that is null or has none.
func (r *record) number() int {
	if r == nil {
		return 0
	}
	return r.GetNumber()
}

func (r *record) isOpen() bool { return r.GetState() == stateOpen }

// labelNames returns the names of its labels as GitHub writes them.
func (r *record) labelNames() []string {
	names := make([]string, len(r.Labels))
	for i, l := range r.Labels {
		names[i] = l.GetName()
	}
	return names
}

// normalLabels returns the names of its labels in normal form, each once.
func (r *record) normalLabels() []string {
	labels := make([]string, 0, len(r.Labels))
	for _, name := range r.labelNames() {
		label := tracker.NormalLabel(name)
		if label != "" && !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	return labels
}

// newMalformed returns the description of a malformed record. The number is 0 when
// the record does not have one.
func newMalformed(number int, why error) tracker.Malformed {
	m := tracker.Malformed{Reason: clip(why.Error()) + ": look at it on GitHub"}
	if number > 0 {
		m.ID, m.Identifier = tracker.ID(strconv.Itoa(number)), identifier(number)
	}
	return m
}

// decodeRecords reads the records of a list. It returns malformed ones separately, each
// with its reason.
func decodeRecords(c *client.Client, a transport.Answer) (records []*record, malformed []tracker.Malformed, err error) {
	keep := func(r *record, err error) {
		if err == nil {
			err = r.validate()
		}
		if err == nil {
			records = append(records, r)
			return
		}
		malformed = append(malformed, newMalformed(r.number(), err))
	}
	var all []*record
	if err := c.Decode(a, &all); err == nil {
		for _, r := range all {
			keep(r, nil)
		}
		return records, malformed, nil
	}
	// Something has the wrong type: find the malformed records one by one.
	var each []json.RawMessage
	if err := c.Decode(a, &each); err != nil {
		return nil, nil, err
	}
	for _, raw := range each {
		var r *record
		err := json.Unmarshal(raw, &r)
		keep(r, err)
	}
	return records, malformed, nil
}

// repositoryName returns owner/name of the record's repository, from its API address.
func (r *record) repositoryName() string {
	_, name, _ := strings.Cut(r.GetRepositoryURL(), "/repos/")
	return name
}
