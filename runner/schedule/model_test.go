package schedule_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// The start of sessions once more, slow and literal: SPEC §8.2 and §8.3 line by
// line, with no word of the package's own judgement. Plan must agree.

func TestPlanStartsWhatTheSpecificationSays(t *testing.T) {
	check(t, func(t *rapid.T, w fixture) {
		decisions := w.plan()
		settled := slices.DeleteFunc(slices.Clone(decisions), func(d schedule.Decision) bool {
			return d.Action == schedule.Dispatch
		})
		want := ids(dumbStart(w.then(settled)))
		if diff := cmp.Diff(want, ids(dispatched(decisions))); diff != "" {
			t.Fatalf("(-specification +plan):\n%s", diff)
		}
	})
}

// dumbStart picks, one at a time, what is to be started in a fixture in which
// nothing remains to be stopped, released or parked.
func dumbStart(w fixture) []tracker.Issue {
	started := []tracker.Issue{}
	for {
		best, found := tracker.Issue{}, false
		for _, retry := range []bool{true, false} { // what is due goes before what is new
			for _, issue := range dumbCandidates(w, retry) {
				if dumbEligible(w, issue, started) && (!found || dumbLess(issue, best)) {
					best, found = issue, true
				}
			}
			if found {
				break
			}
		}
		if !found {
			return started
		}
		started = append(started, best)
	}
}

// dumbCandidates are the issues of claims whose time has come, or of no claim.
func dumbCandidates(w fixture, retry bool) []tracker.Issue {
	var issues []tracker.Issue
	if !retry {
		for _, issue := range w.snap.Candidates {
			_, claimed := w.state.Claims[issue.ID]
			known, asked := w.snap.Claimed[issue.ID]
			switch {
			case claimed:
			case known != nil:
				issues = append(issues, *known)
			case !asked:
				issues = append(issues, issue)
			}
		}
		return issues
	}
	for id, c := range w.state.Claims {
		if known := w.snap.Claimed[id]; c.Phase == schedule.Waiting && !c.Due.After(w.now) && known != nil {
			issues = append(issues, *known)
		}
	}
	return issues
}

func dumbEligible(w fixture, issue tracker.Issue, started []tracker.Issue) bool {
	// It has id, identifier, title, and state.
	for _, field := range []string{string(issue.ID), issue.Identifier, issue.Title, issue.State} {
		if strings.TrimSpace(field) == "" {
			return false
		}
	}
	// Its state is in active_states and not in terminal_states.
	if !dumbIn(issue.State, w.policy.ActiveStates) || dumbIn(issue.State, w.policy.TerminalStates) {
		return false
	}
	// It carries the required labels, and the adapter consents (SPEC §5.3.1).
	for _, label := range w.policy.RequiredLabels {
		if label == "" || !slices.Contains(issue.Labels, label) {
			return false
		}
	}
	if !issue.Dispatchable {
		return false
	}
	// It is not already in running: neither before nor since this pass began.
	for _, other := range started {
		if other.ID == issue.ID {
			return false
		}
	}
	// Global and per-state concurrency slots are available.
	running, inState := len(started), 0
	for _, other := range started {
		if dumbSame(other.State, issue.State) {
			inState++
		}
	}
	for id, c := range w.state.Claims {
		if holdsSlot(c) {
			running++
			if dumbSame(w.latest(id).State, issue.State) {
				inState++
			}
		}
	}
	slots := w.policy.MaxConcurrent
	if w.state.Pause.Why != "" {
		slots = min(slots, 1) // one tries whether it is mended
	}
	if closed(w) || running >= slots || w.state.Tick.Sessions+len(started) >= w.policy.MaxPerTick {
		return false
	}
	for state, limit := range w.policy.MaxPerState {
		if dumbSame(state, issue.State) && inState >= limit {
			return false
		}
	}
	// If the issue state is Todo, do not dispatch when any blocker is non-terminal.
	if dumbSame(issue.State, "Todo") {
		for _, blocker := range issue.BlockedBy {
			if !dumbIn(blocker.State, w.policy.TerminalStates) {
				return false
			}
		}
	}
	return true
}

// dumbLess is the order of SPEC §8.2, as sentences.
func dumbLess(a, b tracker.Issue) bool {
	urgency := func(issue tracker.Issue) int {
		for n := 1; n <= 4; n++ {
			if issue.Priority != nil && *issue.Priority == n {
				return n
			}
		}
		return 5
	}
	if urgency(a) != urgency(b) {
		return urgency(a) < urgency(b)
	}
	if a.CreatedAt.IsZero() != b.CreatedAt.IsZero() {
		return b.CreatedAt.IsZero()
	}
	if !a.CreatedAt.Equal(b.CreatedAt) {
		return a.CreatedAt.Before(b.CreatedAt)
	}
	return a.Identifier < b.Identifier
}

func dumbSame(a, b string) bool {
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}

func dumbIn(state string, states []string) bool {
	return slices.ContainsFunc(states, func(s string) bool { return dumbSame(s, state) })
}

// closed reports whether something forbids every start: a hold, a failure that
// is everyone's, or a budget that is spent.
func closed(w fixture) bool {
	s, b := w.state, w.policy.Budget
	return !w.snap.Hold.None() || s.Tick.Paused ||
		s.Pause.Why != "" && w.now.Before(s.Pause.Until) ||
		b.TokensPerTick > 0 && s.Tick.Usage.Total() >= b.TokensPerTick ||
		b.TokensPerDay > 0 && s.SpentToday(w.now).Usage.Total() >= b.TokensPerDay
}
