package schedule

import (
	"fmt"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// reconcile performs the first pass on a claim with a session: it stops the
// session if it is no longer wanted or stalled (SPEC §8.5). Sessions of other
// runs take a slot and are otherwise left to their runs.
func (pl *planner) reconcile(c Claim) {
	known, asked := pl.snap.Claimed[c.ID]
	issue := c.remembered()
	if known != nil {
		issue = *known
	}
	pl.occupy(issue.State)
	if c.Phase == Stopping || c.Owner != pl.state.Self {
		pl.note(issue, c.Phase, "", Why{InProgress, orElse(c.Why, "a session works on it")})
		return
	}
	if why := pl.stopReason(c, known, asked); !why.None() {
		d := Decision{Action: Stop, ID: c.ID, Why: why}
		if known != nil {
			d.Issue = *known
		}
		pl.decide(d, issue, c.Phase)
		return
	}
	pl.observe(c, known)
	pl.note(issue, c.Phase, "", Why{InProgress, "a session works on it"})
}

// stopReason returns why a running session must end.
func (pl *planner) stopReason(c Claim, known *tracker.Issue, asked bool) Why {
	if asked && known == nil {
		return Why{NotVisible, "the tracker no longer shows the issue"}
	}
	if known != nil {
		if why := pl.rules.ineligibleToContinue(known); !why.None() {
			return why
		}
	}
	b := pl.p.Budget
	if b.TokensPerIssue > 0 && c.Tokens >= b.TokensPerIssue {
		return issueBudget(c, b)
	}
	if why := pl.state.spentBudget(b, pl.now); !why.None() {
		return why
	}
	if silence := pl.now.Sub(c.silentSince()); c.watched(pl.p) && silence > pl.p.Stall {
		return Why{Stalled, fmt.Sprintf("silent for %v (codex.stall_timeout_ms)", silence.Round(time.Second))}
	}
	return Why{}
}

// watched reports whether the session of the claim can stall now.
func (c Claim) watched(p Policy) bool {
	return p.Stall > 0 && c.Phase == Running && !c.TurnSince.IsZero()
}

// silentSince returns the time of the last sign of life in the current turn.
func (c Claim) silentSince() time.Time { return later(c.TurnSince, c.Heard) }

func issueBudget(c Claim, b Budget) Why {
	return Why{IssueBudget, fmt.Sprintf("spent %d tokens of budget.max_tokens_per_issue %d", c.Tokens, b.TokensPerIssue)}
}

// settle performs the second pass on a claim without a session: it releases,
// dispatches or keeps it.
func (pl *planner) settle(c Claim) {
	known, asked := pl.snap.Claimed[c.ID]
	if known == nil {
		if asked {
			pl.release(c, c.remembered(), Why{NotVisible, "the tracker no longer shows the issue"})
		} else {
			pl.note(c.remembered(), c.Phase, "", pl.unknown(c.ID))
		}
		return
	}
	if why := pl.rules.ineligibleToContinue(known); !why.None() {
		pl.release(c, *known, why)
		return
	}
	switch {
	case c.Phase == Waiting:
		pl.resumeWaiting(c, known)
	case c.Content != "" && c.Content != known.ContentDigest():
		pl.release(c, *known, Why{Changed, "somebody changed the issue"})
	case c.Setup.differs(pl.p.Setup):
		pl.release(c, *known, Why{Changed, "WORKFLOW.md has changed since it was parked for a failure of a hook or the prompt"})
	default:
		pl.observe(c, known)
		pl.note(*known, c.Phase, "", Why{IsParked, c.Why})
	}
}

// unknown returns why a claimed issue could not be read.
func (pl *planner) unknown(id tracker.ID) Why {
	if reason, malformed := pl.snap.Malformed[id]; malformed {
		return Why{Malformed, "its record in the tracker is malformed: " + reason}
	}
	return Why{NotKnown, "the tracker could not be asked about it"}
}

// resumeWaiting dispatches a waiting claim if it is due and there is room.
func (pl *planner) resumeWaiting(c Claim, known *tracker.Issue) {
	if b := pl.p.Budget; b.TokensPerIssue > 0 && c.Tokens >= b.TokensPerIssue {
		pl.decide(Decision{Action: Park, ID: c.ID, Issue: *known, Why: issueBudget(c, b)}, *known, c.Phase)
		return
	}
	why := pl.rules.ineligibleToStart(known)
	if why.None() && c.Due.After(pl.now) {
		why = Why{NotDue, fmt.Sprintf("waits until %s: %s", c.Due.UTC().Format(time.RFC3339), c.Why)}
	}
	if why.None() {
		why = pl.noRoomFor(known)
	}
	if why.None() {
		pl.dispatch(*known, c.Phase)
		return
	}
	pl.observe(c, known)
	pl.note(*known, c.Phase, "", why)
}

func (pl *planner) release(c Claim, issue tracker.Issue, why Why) {
	pl.freed[c.ID] = true
	pl.decide(Decision{Action: Release, ID: c.ID, Issue: issue, Why: why, Clean: why.Reason == Terminal}, issue, c.Phase)
}

func (pl *planner) observe(c Claim, known *tracker.Issue) {
	if known == nil || c.knows(known) {
		return
	}
	pl.decide(Decision{Action: Observe, ID: c.ID, Issue: *known}, *known, c.Phase)
}

// startNew performs the third pass: it claims candidates while there is room
// (SPEC §8.2).
func (pl *planner) startNew() {
	if !pl.explain && !pl.noRoom().None() {
		return
	}
	candidates := inOrder(pl.snap.Candidates)
	for i := range candidates {
		if !pl.explain && !pl.noRoom().None() {
			return
		}
		issue := &candidates[i]
		if known, asked := pl.snap.Claimed[issue.ID]; known != nil {
			issue = known
		} else if asked {
			if _, claimed := pl.state.Claims[issue.ID]; !claimed {
				pl.note(*issue, "", "", Why{NotVisible, "the tracker no longer shows the issue"})
			}
			continue
		}
		if _, claimed := pl.state.Claims[issue.ID]; claimed && !pl.freed[issue.ID] || pl.taken[issue.ID] {
			continue
		}
		why := pl.rules.ineligibleToStart(issue)
		if why.None() {
			why = pl.noRoomFor(issue)
		}
		if why.None() {
			pl.dispatch(*issue, "")
			continue
		}
		pl.note(*issue, "", "", why)
	}
}

// knows reports whether the claim agrees with the issue in everything that people
// see. It does not compare contents: settle does, for parked claims.
func (c Claim) knows(issue *tracker.Issue) bool {
	return c.Content != "" && c.State == issue.State && c.Title == issue.Title &&
		c.URL == issue.URL && c.Identifier == issue.Identifier
}

// remembered returns the issue as far as its claim stores it.
func (c Claim) remembered() tracker.Issue {
	return tracker.Issue{ID: c.ID, Identifier: c.Identifier, Title: c.Title, URL: c.URL, State: c.State}
}
