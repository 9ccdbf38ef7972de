package schedule

import (
	"cmp"
	"fmt"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// reconcile performs the first pass on a claim with a session: it stops the
// session if it is no longer wanted or stalled (SPEC §8.5). Sessions of other
// runs are counted, and otherwise left to their runs.
func (pl *planner) reconcile(c Claim) {
	known, asked := pl.snap.Claimed[c.ID]
	d, issue := Decision{ID: c.ID}, c.remembered()
	if known != nil {
		d.Issue, issue = *known, *known
	}
	if c.Phase == Stopping || c.Owner != pl.state.Self {
		pl.room.occupy(c, issue.State, c.Since)
		pl.note(issue, c.Phase, Why{InProgress, cmp.Or(c.Why, "a session works on it"+c.whereUntil())})
		return
	}
	f, _ := pl.talks.feedback(c.ID)
	if d.Why = pl.stopReason(c, known, asked, f); !d.Why.None() {
		pl.room.occupy(c, issue.State, pl.now)
		if d.Action = Stop; d.Why.Reason.parks() {
			d.Feedback = f
		}
		pl.decide(d, issue, c.Phase)
		return
	}
	pl.room.occupy(c, issue.State, c.Since)
	if f.Command == CommandResume {
		pl.resumes = true
		d.Action, d.Why, d.Feedback = Free, commanded(f), f
		pl.decide(d, issue, c.Phase)
		f.Command = "" // it is obeyed
		pl.steer(c, issue, f)
		return
	}
	pl.observe(c, known)
	if pl.steer(c, issue, f) {
		return
	}
	pl.note(issue, c.Phase, Why{InProgress, "a session works on it"})
}

func (pl *planner) stopReason(c Claim, known *tracker.Issue, asked bool, f Feedback) Why {
	if asked && known == nil {
		return Why{NotVisible, "the tracker no longer shows the issue"}
	}
	if known != nil {
		rules := pl.eligible.of(c)
		why := rules.ineligibleToContinue(known)
		left, changed := pl.snap.Own[c.ID]
		isOwnDoing := changed && (left == nil || rules.ineligibleToContinue(left) == why)
		if !why.None() && !isOwnDoing {
			return why
		}
	}
	switch {
	case f.Pull == PullMerged, f.Pull == PullClosed:
		return mergedOrClosed(f)
	case f.Command == CommandStop:
		return commanded(f)
	}
	b := pl.p.Budget
	if why := b.issueSpent(c); !why.None() {
		return why
	}
	if why := pl.state.SpentBudget(b, pl.now); !why.None() {
		return why
	}
	if silence := pl.now.Sub(c.silentSince()); c.watched(pl.p) && silence > pl.p.Stall {
		return Why{Stalled, fmt.Sprintf("silent for %v (codex.stall_timeout_ms)", silence.Round(time.Second))}
	}
	return Why{}
}

// settle performs the second pass on a claim without a session: it releases,
// dispatches or keeps it. An issue with a delivery and no claim comes here as a claim
// without a phase; see unclaimed.
func (pl *planner) settle(c Claim) {
	f, _ := pl.talks.feedback(c.ID)
	if c.LostUntil.After(pl.now) {
		pl.taken[c.ID] = true
		why := fmt.Sprintf("waits until %s, when no agent works on %s any more: %s", c.LostUntil.UTC().Format(time.RFC3339), c.Host, c.Why)
		pl.note(c.remembered(), c.Phase, withUnanswered(Why{NotDue, why}, f))
		return
	}
	if c.Phase == "" && !f.IsPending() {
		pl.observe(c, nil)
		return
	}
	known, asked := pl.snap.Claimed[c.ID]
	switch {
	case !asked:
		pl.taken[c.ID] = true
		why := Why{NotKnown, "the tracker could not be asked about it"}
		if reason, malformed := pl.snap.Malformed[c.ID]; malformed {
			why = Why{Malformed, "its record in the tracker is malformed: " + reason}
		}
		pl.note(c.remembered(), c.Phase, withUnanswered(why, f))
		return
	case f.Pull == PullMerged, f.Pull == PullClosed && (known == nil || pl.eligible.forFeedback.terminal[tracker.NormalState(known.State)]):
		pl.finish(c, known, f)
		return
	case known == nil:
		pl.release(c, c.remembered(), Why{NotVisible, "the tracker no longer shows the issue"})
		return
	}
	if why := pl.eligible.of(c).ineligibleToContinue(known); !why.None() {
		pl.release(c, *known, why)
		return
	}
	if pl.obey(c, known, f) {
		return
	}
	switch {
	case c.Phase == "":
		pl.settleUnclaimed(c, known, f)
	case c.Phase == Waiting:
		pl.resumeWaiting(c, known)
	case pl.talks.isAnswered(c, f):
		pl.free(c, known, f, Why{Unanswered, f.Summary})
	case c.Content != "" && c.Content != known.ContentDigest():
		pl.beginAgain(c, known, f, Why{Changed, "somebody changed the issue"})
	case c.Setup.differs(pl.p.Setup):
		pl.beginAgain(c, known, f, Why{Changed, "WORKFLOW.md has changed since it was parked for a failure of a hook or the prompt"})
	default:
		pl.observe(c, known)
		why := Why{IsParked, c.Why}
		if f.Round != "" {
			why.Detail += "; this does not let it go on: " + cmp.Or(f.Summary, "what was said")
		}
		pl.note(*known, c.Phase, why)
	}
}

// resumeWaiting dispatches a waiting claim if it is due and there is room.
func (pl *planner) resumeWaiting(c Claim, known *tracker.Issue) {
	f, read := pl.talks.feedback(c.ID)
	if why := pl.talks.mustPark(c, f); !why.None() {
		pl.park(c, known, f, why)
		return
	}
	why := pl.eligible.toStart(c, known).ineligibleToStart(known)
	if why.None() && c.Feedback && !read && pl.snap.Feedback != nil {
		why = Why{NotKnown, "what people and checks say about it could not be read"}
	}
	if why.None() && c.Due.After(pl.now) {
		why = Why{NotDue, fmt.Sprintf("waits until %s: %s", c.Due.UTC().Format(time.RFC3339), c.Why)}
	}
	if why.None() {
		why = pl.room.noneFor(known)
	}
	if why.None() {
		why = pl.room.hosts.noneAtHostOf(c)
	}
	if why.None() {
		pl.dispatch(*known, c.Phase)
		return
	}
	pl.observe(c, known)
	pl.note(*known, c.Phase, withUnanswered(why, f))
}

// release deletes a claim. Unanswered feedback on the issue may be the reason for another
// one.
func (pl *planner) release(c Claim, issue tracker.Issue, why Why) {
	if c.Phase == "" {
		pl.taken[c.ID] = true
		f, _ := pl.talks.feedback(c.ID)
		if !pl.freed[c.ID] {
			pl.note(issue, "", withUnanswered(why, f))
		}
		if f.Pending { // the command cannot be obeyed: drop it, or every tick would read the issue because of it
			pl.decide(Decision{Action: Observe, ID: c.ID, Feedback: f}, issue, "")
		}
		return
	}
	pl.freed[c.ID] = true
	d := Decision{Action: Release, ID: c.ID, Issue: issue, Why: why, Clean: why.Reason == Terminal, Hosts: c.Hosts()}
	pl.decide(d, issue, c.Phase)
	if _, delivered := pl.state.Deliveries[c.ID]; !delivered {
		pl.talks.ended[c.ID] = true
		return
	}
	talk := pl.talks.of(c.ID)
	talk.release(c, why.Reason, d.Clean)
	pl.talks.changed[c.ID] = talk
	if len(pl.snap.Feedback) > 0 {
		pl.settle(pl.talks.deliveredClaim(c.ID))
	}
}

// observe stores the tracker's record of an issue, and that none of the feedback is unanswered.
func (pl *planner) observe(c Claim, known *tracker.Issue) {
	d := Decision{Action: Observe, ID: c.ID}
	f, _ := pl.talks.feedback(c.ID)
	isRead := pl.talks.of(c.ID).isMarkedRead(f)
	if !isRead {
		d.Feedback = f
	}
	switch {
	case known != nil && !c.knows(known):
		d.Issue = *known
	case isRead:
		return
	}
	pl.decide(d, d.Issue, c.Phase)
}

// startNew performs the third pass: it claims candidates while there is room
// (SPEC §8.2).
func (pl *planner) startNew() {
	if !pl.explain && !pl.room.none().None() {
		return
	}
	pl.open = newOpenPulls(pl.state, pl.snap, pl.talks, pl.p, pl.begun())
	candidates := inOrder(pl.snap.Candidates)
	for i := range candidates {
		issue := &candidates[i]
		pl.startDue(issue)
		if !pl.explain && !pl.room.none().None() {
			return
		}
		if pl.taken[issue.ID] {
			continue
		}
		if pl.state.Finishing[issue.ID] {
			pl.note(*issue, "", Why{Merged, "its pull request was merged or closed, and this tick finishes what is left of it"})
			continue
		}
		if known, asked := pl.snap.Claimed[issue.ID]; known != nil {
			issue = known
		} else if asked {
			if _, claimed := pl.state.Claims[issue.ID]; !claimed {
				pl.note(*issue, "", Why{NotVisible, "the tracker no longer shows the issue"})
			}
			continue
		}
		if _, claimed := pl.state.Claims[issue.ID]; claimed && !pl.freed[issue.ID] {
			continue
		}
		why := pl.eligible.strict.ineligibleToStart(issue)
		if why.None() {
			why = pl.room.noneFor(issue)
		}
		if why.None() {
			why = pl.open.reached(issue)
		}
		if why.None() {
			pl.dispatch(*issue, "")
			continue
		}
		pl.note(*issue, "", why)
	}
	pl.startDue(nil)
}
