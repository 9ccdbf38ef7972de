package schedule_test

import (
	"slices"
	"strings"
	"testing"
	"time"

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
		want := ids(modelStart(f.settled()))
		if diff := cmp.Diff(want, ids(dispatched(decisions))); diff != "" {
			t.Fatalf("(-specification +plan):\n%s", diff)
		}
	})
}

// settled returns the fixture after everything that is decided has happened except that
// sessions start.
func (f fixture) settled() fixture {
	return f.then(slices.DeleteFunc(f.plan(), func(d schedule.Decision) bool { return d.Action == schedule.Dispatch }))
}

// modelStart returns the issues to start, chosen one at a time, in a fixture in which
// nothing has to be stopped, released or parked.
func modelStart(f fixture) []tracker.Issue {
	started := []tracker.Issue{}
	for {
		best, found := candidate{}, false
		for _, retry := range []bool{true, false} { // a retry that is due goes before a new issue
			for _, c := range modelCandidates(f, retry) {
				if modelEligible(f, c, started) && (!found || modelLess(c, best)) {
					best, found = c, true
				}
			}
			if found {
				break
			}
		}
		if !found {
			return started
		}
		started = append(started, best.Issue)
	}
}

// candidate is an issue that may be started, and whether it is due for feedback.
type candidate struct {
	tracker.Issue
	feedback  bool
	unclaimed bool
}

// modelCandidates returns the issues of claims that are due, or of no claim. What people
// and checks say about an issue without a claim decides how it is started.
func modelCandidates(f fixture, retry bool) []candidate {
	var all []candidate
	if retry {
		for id, c := range f.state.Claims {
			said, read := f.snap.Feedback[id]
			read = read && !said.Mark.At.Before(f.state.Conversations[id].ReadUpTo.At)
			unread := c.Feedback && !read && f.snap.Feedback != nil
			if c.LostUntil.After(f.now) {
				continue // its agent may still work
			}
			if known := f.snap.Claimed[id]; c.Phase == schedule.Waiting && !c.Due.After(f.now) && known != nil && !unread {
				all = append(all, candidate{*known, c.Feedback, false})
			}
		}
		return all
	}
	said := map[tracker.ID]bool{}
	for id := range f.snap.Feedback {
		_, claimed := f.state.Claims[id]
		if said[id] = modelUnanswered(f, id); said[id] && !claimed && f.snap.Claimed[id] != nil {
			all = append(all, candidate{*f.snap.Claimed[id], true, true})
		}
	}
	for _, issue := range f.snap.Candidates {
		_, claimed := f.state.Claims[issue.ID]
		known, asked := f.snap.Claimed[issue.ID]
		switch {
		case claimed, said[issue.ID], f.state.Finishing[issue.ID]:
		case known != nil:
			all = append(all, candidate{*known, false, true})
		case !asked:
			all = append(all, candidate{issue, false, true})
		}
	}
	return all
}

// modelUnanswered reports whether something is unanswered on an issue that has a delivery,
// for which the policy has sessions, or which has something else to be dealt with first.
func modelUnanswered(f fixture, id tracker.ID) bool {
	_, delivered := f.state.Deliveries[id]
	said, talk := f.snap.Feedback[id], f.state.Conversations[id]
	switch {
	case !delivered || f.state.Finishing[id] || said.Mark.At.Before(talk.ReadUpTo.At):
		return false
	case said.Pull == schedule.PullMerged, said.Pull == schedule.PullClosed:
		return true
	case said.Mark.Equal(talk.ReadUpTo):
		return false
	case said.Command != "" && !said.CommandsUpTo.Equal(talk.CommandsUpTo):
		return true
	case said.Round == schedule.RoundSaid:
		return f.policy.MaxRounds > 0
	}
	return said.Round == schedule.RoundChecks && f.policy.MaxCheckRounds > 0
}

func modelEligible(f fixture, issue candidate, started []tracker.Issue) bool {
	// It has id, identifier, title, and state.
	for _, field := range []string{string(issue.ID), issue.Identifier, issue.Title, issue.State} {
		if strings.TrimSpace(field) == "" {
			return false
		}
	}
	// Its state is in active_states and not in terminal_states. It carries the required
	// labels (SPEC §5.3.1).
	active := stateIn(issue.State, f.policy.ActiveStates) && !stateIn(issue.State, f.policy.TerminalStates)
	for _, label := range f.policy.RequiredLabels {
		active = active && label != "" && slices.Contains(issue.Labels, label)
	}
	// Otherwise there is feedback on it, and it is not finished: that it was handed over to a
	// terminal state does not finish it.
	finished := stateIn(issue.State, f.policy.TerminalStates) && !sameState(issue.State, f.policy.HandedOver)
	if !active && (!issue.feedback || finished) {
		return false
	}
	// The adapter consents.
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
	running, counted, inState := len(started), len(started), 0
	for _, other := range started {
		if sameState(other.State, issue.State) {
			inState++
		}
	}
	for id, c := range f.state.Claims {
		if holdsSlot(c) {
			running++
			if f.counts(c) {
				counted++
			}
			if sameState(f.latest(id).State, issue.State) {
				inState++
			}
		}
	}
	slots := f.policy.MaxConcurrent
	if f.state.Pause.Why != "" && running > 0 {
		return false // one session, of all, checks whether the failure is over
	}
	if len(f.policy.Hosts) > 0 && modelHosted(f, started).place(issue.ID) == "" {
		return false
	}
	if startsForbidden(f) || counted >= slots || f.state.Tick.Sessions+len(started) >= f.policy.PerTick() {
		return false
	}
	for state, limit := range f.policy.MaxPerState {
		if sameState(state, issue.State) && inState >= limit {
			return false
		}
	}
	if modelLimited(f, issue, started) {
		return false
	}
	// If the issue state is Todo, do not dispatch when any blocker is non-terminal.
	if active && sameState(issue.State, "Todo") {
		for _, blocker := range issue.BlockedBy {
			if !stateIn(blocker.State, f.policy.TerminalStates) {
				return false
			}
		}
	}
	return true
}

// modelHosts are the sessions on the worker hosts.
type modelHosts struct {
	fixture
	busy  map[string]int // sessions by host
	tries map[string]int // of these, the ones that began since the host has failed
}

// modelHosted returns the hosts after the issues were started.
func modelHosted(f fixture, started []tracker.Issue) modelHosts {
	m := modelHosts{f, map[string]int{}, map[string]int{}}
	for _, c := range f.state.Claims {
		if holdsSlot(c) {
			m.add(c.Host, c.Since)
		}
	}
	for _, issue := range started {
		m.add(m.place(issue.ID), f.now)
	}
	return m
}

func (m modelHosts) add(host string, began time.Time) {
	m.busy[host]++
	if !began.Before(m.state.Hosts[host].Until) {
		m.tries[host]++
	}
}

// hasSlot reports whether a session may start on a host. One at a time tries a host that has failed.
func (m modelHosts) hasSlot(host string) bool {
	h, failed := m.state.Hosts[host]
	return !m.now.Before(h.Until) && (m.policy.PerHost == 0 || m.busy[host] < m.policy.PerHost) && (!failed || m.tries[host] == 0)
}

// last returns the host of the last session on an issue, and whether it works.
func (m modelHosts) last(id tracker.ID) (host string, works bool) {
	host = m.state.Conversations[id].Host
	if c, claimed := m.state.Claims[id]; claimed {
		host = c.Host
	}
	_, failed := m.state.Hosts[host]
	return host, !failed && slices.Contains(m.policy.Hosts, host)
}

// place returns the host on which an issue starts; empty for none.
func (m modelHosts) place(id tracker.ID) string {
	last, works := m.last(id)
	if _, claimed := m.state.Claims[id]; works && (claimed || m.hasSlot(last)) {
		if m.hasSlot(last) {
			return last
		}
		return "" // it waits for a slot there
	}
	free := slices.DeleteFunc(slices.Clone(m.policy.Hosts), func(host string) bool { return !m.hasSlot(host) })
	if len(free) == 0 {
		return ""
	}
	return slices.MinFunc(free, func(a, b string) int { // the first of equals
		if (a == last) != (b == last) {
			return map[bool]int{true: 1, false: -1}[a == last]
		}
		return m.busy[a] - m.busy[b]
	})
}

// modelLimited reports whether an issue would be one more than a limit of open pull requests
// allows: it is new, has no open pull request, and the open ones and the issues in progress
// without one fill the limit.
func modelLimited(f fixture, issue candidate, started []tracker.Issue) bool {
	if !issue.unclaimed || issue.feedback || modelOpen(f, issue.ID) {
		return false
	}
	full := func(limit int, counts func(labels []string) bool) bool {
		counted := map[tracker.ID]bool{}
		for id, c := range f.state.Claims {
			counted[id] = c.Phase != schedule.Parked && counts(modelLabels(f, id))
		}
		for _, other := range started {
			counted[other.ID] = counted[other.ID] || counts(other.Labels)
		}
		for id := range f.state.Deliveries {
			counted[id] = counted[id] || modelOpen(f, id) && counts(modelLabels(f, id))
		}
		n := 0
		for _, yes := range counted {
			if yes {
				n++
			}
		}
		return n >= limit
	}
	for label, limit := range f.policy.MaxOpenByLabel {
		has := func(labels []string) bool { return slices.Contains(labels, label) }
		if has(issue.Labels) && full(limit, has) {
			return true
		}
	}
	return f.policy.MaxOpen > 0 && full(f.policy.MaxOpen, func([]string) bool { return true })
}

// modelOpen reports whether an issue has an open pull request, as far as it is known.
func modelOpen(f fixture, id tracker.ID) bool {
	pull := f.snap.Feedback[id].Pull
	return f.state.Deliveries[id].Number > 0 && !f.state.Finishing[id] &&
		(pull == schedule.PullOpen || pull == "" && !f.state.Conversations[id].Closed)
}

// modelLabels returns the labels of an issue as they are known.
func modelLabels(f fixture, id tracker.ID) []string {
	if known := f.snap.Claimed[id]; known != nil {
		return known.Labels
	}
	for _, issue := range f.snap.Candidates {
		if issue.ID == id {
			return issue.Labels
		}
	}
	return f.state.Conversations[id].Labels
}

// modelLess reports whether a is before b in the order of SPEC §8.2. Among new issues,
// those with feedback go first in their priority.
func modelLess(a, b candidate) bool {
	urgency := func(issue candidate) int {
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
	if a.unclaimed && b.unclaimed && a.feedback != b.feedback {
		return a.feedback
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
