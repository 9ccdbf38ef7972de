package schedule

import (
	"cmp"
	"fmt"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// steer gives the session of a claim what people said since it began. It reports false if there is
// nothing that the session can be given now. While a command waits for the end of the session, what
// was said with it waits too.
func (pl *planner) steer(c Claim, issue tracker.Issue, f Feedback) bool {
	if f.Round != RoundSaid || f.News == "" || f.Command != "" || c.TurnSince.IsZero() || !pl.snap.Steerable[c.ID] {
		return false
	}
	pl.decide(Decision{Action: Steer, ID: c.ID, Issue: issue, Why: Why{Unanswered, f.News}, Feedback: f}, issue, c.Phase)
	return true
}

// finish decides that nothing more is done about an issue: its pull request was merged,
// or closed and the issue is over. An issue that a person moved back to an active state
// after its hand-over is only separated from that pull request.
func (pl *planner) finish(c Claim, known *tracker.Issue, f Feedback) {
	d := Decision{Action: Finish, ID: c.ID, Feedback: f, Clean: true, Why: mergedOrClosed(f), Hosts: c.Hosts()}
	issue := c.remembered()
	if known != nil {
		issue = *known
		again := pl.p.HandsOver && pl.eligible.strict.ineligibleToContinue(known).None() && pl.talks.of(c.ID).Sessions > 0
		d.Issue, d.Clean = issue, !again
		d.Move = f.Pull == PullMerged && !again && !pl.eligible.strict.terminal[tracker.NormalState(known.State)]
	}
	pl.taken[c.ID] = true
	pl.decide(d, issue, c.Phase)
}

func mergedOrClosed(f Feedback) Why {
	who := cmp.Or(f.PullBy, "somebody")
	if f.Pull == PullMerged {
		return Why{Merged, who + " merged the pull request"}
	}
	return Why{Closed, who + " closed the pull request without merging it"}
}

// obey decides the consequence of a pull request that was closed or reopened, and of the
// command of a person, for a claim without a session, or for an issue without a claim. It
// reports false if there is neither.
func (pl *planner) obey(c Claim, known *tracker.Issue, f Feedback) bool {
	closed := pl.talks.of(c.ID).Closed
	switch {
	case f.Pull == PullClosed && closed && c.Phase == Parked && f.Command == "" && !f.Fresh:
		pl.observe(c, known)
		pl.note(*known, c.Phase, Why{IsParked, c.Why})
	case f.Pull == PullClosed:
		pl.park(c, known, f, mergedOrClosed(f))
	case closed && f.Pull == PullOpen && c.Phase == Parked:
		pl.release(c, *known, Why{Reopened, "the pull request was opened again"})
	case f.Command == CommandStop, f.Command == CommandPark:
		pl.park(c, known, f, commanded(f))
	case f.Command == CommandRetry, f.Command == CommandResume:
		pl.free(c, known, f, commanded(f))
	default:
		return false
	}
	return true
}

func commanded(f Feedback) Why {
	verb := "wrote /symphony"
	if f.Pending {
		verb = "gave the command"
	}
	return Why{Commanded, fmt.Sprintf("%s %s %s", cmp.Or(f.By, "somebody"), verb, f.Command)}
}

// free lets an issue go on, and starts a session on it if there is room.
func (pl *planner) free(c Claim, known *tracker.Issue, f Feedback, why Why) {
	d := Decision{Action: Free, ID: c.ID, Issue: *known, Why: why, Feedback: f, Answers: pl.eligible.answers(known)}
	pl.resumes = pl.resumes || f.Command == CommandResume
	pl.decide(d, *known, c.Phase)
	talk := pl.talks.of(c.ID)
	c.setFree(&talk, d, pl.now)
	pl.talks.obeyed[c.ID] = !f.Pending
	c.observe(*known)
	pl.talks.changed[c.ID] = talk
	pl.resumeWaiting(c, known)
}

// beginAgain lets a parked issue go on because of a change. Its claim is released, so that it is
// looked at as a new one. Without a delivery the conversation would end with the claim: then an issue
// with unanswered words of people keeps both, and one whose conversation could not be read stays parked.
func (pl *planner) beginAgain(c Claim, known *tracker.Issue, f Feedback, why Why) {
	_, read := pl.snap.Feedback[c.ID]
	_, delivered := pl.state.Deliveries[c.ID]
	switch {
	case delivered:
		pl.release(c, *known, why)
	case f.Round == RoundSaid || pl.talks.of(c.ID).Answer != "":
		pl.free(c, known, f, why)
	case !read && pl.snap.Feedback != nil:
		pl.note(*known, c.Phase, Why{NotKnown, why.Detail + ", and what people say about it could not be read"})
	default:
		pl.release(c, *known, why)
	}
}

func (pl *planner) park(c Claim, known *tracker.Issue, f Feedback, why Why) {
	pl.taken[c.ID] = true
	d := Decision{Action: Park, ID: c.ID, Issue: *known, Why: why, Feedback: f, Answers: pl.eligible.answers(known)}
	pl.decide(d, *known, c.Phase)
}

// withUnanswered returns the reason with the unanswered feedback added, so that the feedback
// does not seem overlooked.
func withUnanswered(why Why, f Feedback) Why {
	if f.Round != "" && f.Summary != "" {
		why.Detail = why.String() + "; unanswered: " + f.Summary
	}
	return why
}

// settleUnclaimed decides about feedback on an issue without a claim. If a session is
// due, startNew has to start it.
func (pl *planner) settleUnclaimed(c Claim, known *tracker.Issue, f Feedback) {
	if f.Round == "" {
		return
	}
	pl.taken[c.ID] = true
	if why := pl.eligible.toStart(c, known).ineligibleToStart(known); !why.None() {
		pl.note(*known, "", withUnanswered(why, f))
		return
	}
	if until := pl.state.Failed[c.ID]; until.After(pl.now) && pl.talks.of(c.ID).again(f) {
		why := Why{NotDue, fmt.Sprintf("the session on this ended without an answer, and the next one waits until %s", until.UTC().Format(time.RFC3339))}
		pl.note(*known, "", withUnanswered(why, f))
		return
	}
	if why := pl.talks.mustPark(c, f); !why.None() && pl.eligible.answers(known) { // otherwise somebody moved it back
		pl.park(c, known, f, why)
		return
	}
	pl.due = append(pl.due, known)
}

// startDue starts sessions on issues without a claim that are due because of their
// feedback. People wait for an answer, so each goes before the candidates of its
// priority; before is the next candidate, nil if there is none.
func (pl *planner) startDue(before *tracker.Issue) {
	for len(pl.due) > 0 && (before == nil || rank(pl.due[0].Priority) <= rank(before.Priority)) {
		issue := pl.due[0]
		pl.due = pl.due[1:]
		if why := pl.room.noneFor(issue); !why.None() {
			f, _ := pl.talks.feedback(issue.ID)
			pl.note(*issue, "", withUnanswered(why, f))
			continue
		}
		pl.dispatch(*issue, "")
	}
}
