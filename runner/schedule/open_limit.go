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

// add counts an issue with these labels.
func (l *openLimit) add(labels []string, isOpen bool) {
	switch {
	case l.label != "" && !slices.Contains(labels, l.label):
	case isOpen:
		l.open++
	default:
		l.begun++
	}
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

// countOpen counts the pull requests and the issues in progress, after the decisions so far.
func (pl *planner) countOpen() {
	p := pl.p
	if p.MaxOpen > 0 {
		pl.openLimits = append(pl.openLimits, openLimit{limit: p.MaxOpen})
	}
	for _, label := range slices.Sorted(maps.Keys(p.MaxOpenByLabel)) {
		pl.openLimits = append(pl.openLimits, openLimit{limit: p.MaxOpenByLabel[label], label: label})
	}
	if len(pl.openLimits) == 0 {
		return
	}
	pl.listedLabels = make(map[tracker.ID][]string, len(pl.snap.Candidates))
	for _, issue := range pl.snap.Candidates {
		pl.listedLabels[issue.ID] = issue.Labels
	}
	for id := range pl.begun() {
		if !pl.hasOpenPull(id) {
			pl.countTowardsOpen(pl.labelsOf(id), false)
		}
	}
	for id := range pl.state.Deliveries {
		if pl.hasOpenPull(id) {
			pl.countTowardsOpen(pl.labelsOf(id), true)
		}
	}
}

func (pl *planner) countTowardsOpen(labels []string, isOpen bool) {
	for i := range pl.openLimits {
		pl.openLimits[i].add(labels, isOpen)
	}
}

// begun returns the issues in progress after the decisions so far: they have a claim that is not
// parked.
func (pl *planner) begun() map[tracker.ID]bool {
	begun := make(map[tracker.ID]bool, len(pl.state.Claims))
	for id, c := range pl.state.Claims {
		if c.Phase != Parked {
			begun[id] = true
		}
	}
	for _, d := range pl.decisions {
		switch d.Action {
		case Dispatch, Free:
			begun[d.ID] = true
		case Release, Park, Finish:
			delete(begun, d.ID)
		}
	}
	return begun
}

// hasOpenPull reports whether the work on an issue is in a pull request that is neither merged
// nor closed. Where that could not be read, the state decides.
func (pl *planner) hasOpenPull(id tracker.ID) bool {
	if pl.state.Deliveries[id].Number == 0 || pl.state.Finishing[id] {
		return false
	}
	switch pl.snap.Feedback[id].Pull {
	case PullOpen:
		return true
	case PullMerged, PullClosed:
		return false
	}
	return !pl.talk(id).Closed
}

// labelsOf returns the labels of an issue as they were last read, or else as its last session
// began with them.
func (pl *planner) labelsOf(id tracker.ID) []string {
	if known := pl.snap.Claimed[id]; known != nil {
		return known.Labels
	}
	if labels, listed := pl.listedLabels[id]; listed {
		return labels
	}
	return pl.talk(id).Labels
}

// openLimitReached returns the reason for not starting a new issue although there is room; zero
// for none. An issue whose own pull request is open adds none.
func (pl *planner) openLimitReached(issue *tracker.Issue) Why {
	if pl.hasOpenPull(issue.ID) {
		return Why{}
	}
	for _, l := range pl.openLimits {
		if why := l.reached(issue.Labels); !why.None() {
			return why
		}
	}
	return Why{}
}
