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

// The model is a second implementation of how sessions start: slow, and SPEC §8.2 and
// §8.3 line by line. Plan must agree with it.

func TestPlanStartsWhatTheSpecificationSays(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		decisions := f.plan()
		settled := slices.DeleteFunc(slices.Clone(decisions), func(d schedule.Decision) bool {
			return d.Action == schedule.Dispatch
		})
		want := ids(modelStart(f.then(settled)))
		if diff := cmp.Diff(want, ids(dispatched(decisions))); diff != "" {
			t.Fatalf("(-specification +plan):\n%s", diff)
		}
	})
}

// modelStart returns the issues to start, chosen one at a time, in a fixture in which
// nothing has to be stopped, released or parked.
func modelStart(f fixture) []tracker.Issue {
	started := []tracker.Issue{}
	for {
		best, found := tracker.Issue{}, false
		for _, retry := range []bool{true, false} { // a retry that is due goes before a new issue
			for _, issue := range modelCandidates(f, retry) {
				if modelEligible(f, issue, started) && (!found || modelLess(issue, best)) {
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

// modelCandidates returns the issues of claims that are due, or of no claim.
func modelCandidates(f fixture, retry bool) []tracker.Issue {
	var issues []tracker.Issue
	if !retry {
		for _, issue := range f.snap.Candidates {
			_, claimed := f.state.Claims[issue.ID]
			known, asked := f.snap.Claimed[issue.ID]
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
	for id, c := range f.state.Claims {
		if known := f.snap.Claimed[id]; c.Phase == schedule.Waiting && !c.Due.After(f.now) && known != nil {
			issues = append(issues, *known)
		}
	}
	return issues
}

func modelEligible(f fixture, issue tracker.Issue, started []tracker.Issue) bool {
	// It has id, identifier, title, and state.
	for _, field := range []string{string(issue.ID), issue.Identifier, issue.Title, issue.State} {
		if strings.TrimSpace(field) == "" {
			return false
		}
	}
	// Its state is in active_states and not in terminal_states.
	if !stateIn(issue.State, f.policy.ActiveStates) || stateIn(issue.State, f.policy.TerminalStates) {
		return false
	}
	// It carries the required labels, and the adapter consents (SPEC §5.3.1).
	for _, label := range f.policy.RequiredLabels {
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
		if sameState(other.State, issue.State) {
			inState++
		}
	}
	for id, c := range f.state.Claims {
		if holdsSlot(c) {
			running++
			if sameState(f.latest(id).State, issue.State) {
				inState++
			}
		}
	}
	slots := f.policy.MaxConcurrent
	if f.state.Pause.Why != "" {
		slots = min(slots, 1) // one session checks whether the failure is over
	}
	if startsForbidden(f) || running >= slots || f.state.Tick.Sessions+len(started) >= f.policy.MaxPerTick {
		return false
	}
	for state, limit := range f.policy.MaxPerState {
		if sameState(state, issue.State) && inState >= limit {
			return false
		}
	}
	// If the issue state is Todo, do not dispatch when any blocker is non-terminal.
	if sameState(issue.State, "Todo") {
		for _, blocker := range issue.BlockedBy {
			if !stateIn(blocker.State, f.policy.TerminalStates) {
				return false
			}
		}
	}
	return true
}

// modelLess reports whether a is before b in the order of SPEC §8.2.
func modelLess(a, b tracker.Issue) bool {
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

func sameState(a, b string) bool {
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}

func stateIn(state string, states []string) bool {
	return slices.ContainsFunc(states, func(s string) bool { return sameState(s, state) })
}

// startsForbidden reports whether something forbids every start: a hold, a systemic
// failure or a spent budget.
func startsForbidden(f fixture) bool {
	s, b := f.state, f.policy.Budget
	return !f.snap.Hold.None() || s.Tick.Paused ||
		s.Pause.Why != "" && f.now.Before(s.Pause.Until) ||
		b.TokensPerTick > 0 && s.Tick.Usage.Total() >= b.TokensPerTick ||
		b.TokensPerDay > 0 && s.SpentToday(f.now).Usage.Total() >= b.TokensPerDay
}
