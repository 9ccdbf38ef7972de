package schedule

import (
	"fmt"
	"maps"
	"slices"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/tracker"
)

// MaxOpenLimit is the largest limit of open pull requests: the state keeps no more deliveries.
const MaxOpenLimit = maxDeliveries

// openLimit is a limit of the pull requests that wait for people. An issue in progress counts
// before it has one, so that the sessions of all runs together stay within the limit. The limit
// keeps new issues from starting; it neither stops nor delays anything that has begun.
type openLimit struct {
	limit int
	label string // label of the issues that it is for; empty for all issues
	open  int    // pull requests that wait for people
	begun int    // issues in progress without an open pull request
}

// reached returns the reason for starting no new issue with these labels; zero for none.
func (l openLimit) reached(labels []string) Why {
	if l.label != "" && !slices.Contains(labels, l.label) || l.open+l.begun < l.limit {
		return Why{}
	}
	key, of := "delivery.max_open", ""
	if l.label != "" {
		key, of = "delivery.max_open_by_label", fmt.Sprintf(" of issues labeled %q", l.label)
	}
	wait := "wait"
	if l.open == 1 {
		wait = "waits"
	}
	switch {
	case l.open > l.limit:
		return Why{OpenLimit, fmt.Sprintf("%s%s %s for review, and %s allows %d", text.Count(l.open, "pull request"), of, wait, key, l.limit)}
	case l.open == l.limit:
		return Why{OpenLimit, fmt.Sprintf("%d of %s%s %s for review (%s)", l.open, text.Count(l.limit, "pull request"), of, wait, key)}
	}
	return Why{OpenLimit, fmt.Sprintf("%d of %s%s %s for review, and %s in progress may open more (%s)",
		l.open, text.Count(l.limit, "pull request"), of, wait, text.Count(l.begun, "issue"), key)}
}

// openPulls counts the pull requests that wait for people and the issues in progress, if there are
// limits for them.
type openPulls struct {
	state  *State
	snap   Snapshot
	talks  *talks
	limits []openLimit
}

// newOpenPulls returns the counts after the decisions about all claims. begun holds the issues in
// progress.
func newOpenPulls(s *State, snap Snapshot, t *talks, p Policy, begun map[tracker.ID]bool) openPulls {
	o := openPulls{state: s, snap: snap, talks: t}
	if p.MaxOpen > 0 {
		o.limits = append(o.limits, openLimit{limit: p.MaxOpen})
	}
	for _, label := range slices.Sorted(maps.Keys(p.MaxOpenByLabel)) {
		o.limits = append(o.limits, openLimit{limit: p.MaxOpenByLabel[label], label: label})
	}
	if len(o.limits) == 0 {
		return o
	}
	listed := make(map[tracker.ID][]string, len(snap.Candidates)) // labels
	for _, issue := range snap.Candidates {
		listed[issue.ID] = issue.Labels
	}
	labelsOf := func(id tracker.ID) []string {
		if known := snap.Claimed[id]; known != nil {
			return known.Labels
		}
		if labels, isListed := listed[id]; isListed {
			return labels
		}
		return t.of(id).Labels // when its last session began
	}
	for id := range begun {
		if !o.has(id) {
			o.add(labelsOf(id), false)
		}
	}
	for id := range s.Deliveries {
		if o.has(id) {
			o.add(labelsOf(id), true)
		}
	}
	return o
}

// begin counts an issue whose first session starts, if there are limits by now.
func (o *openPulls) begin(issue tracker.Issue) {
	if len(o.limits) > 0 && !o.has(issue.ID) {
		o.add(issue.Labels, false)
	}
}

func (o *openPulls) add(labels []string, isOpen bool) {
	for i := range o.limits {
		switch l := &o.limits[i]; {
		case l.label != "" && !slices.Contains(labels, l.label):
		case isOpen:
			l.open++
		default:
			l.begun++
		}
	}
}

// has reports whether the work on an issue is in a pull request that is neither merged
// nor closed. Where that could not be read, the state decides.
func (o *openPulls) has(id tracker.ID) bool {
	if o.state.Deliveries[id].Number == 0 || o.state.Finishing[id] {
		return false
	}
	switch o.snap.Feedback[id].Pull {
	case PullOpen:
		return true
	case PullMerged, PullClosed:
		return false
	}
	return !o.talks.of(id).Closed
}

// reached returns the reason for not starting a new issue although there is room; zero
// for none. An issue whose own pull request is open adds none.
func (o *openPulls) reached(issue *tracker.Issue) Why {
	if o.has(issue.ID) {
		return Why{}
	}
	for _, l := range o.limits {
		if why := l.reached(issue.Labels); !why.None() {
			return why
		}
	}
	return Why{}
}
