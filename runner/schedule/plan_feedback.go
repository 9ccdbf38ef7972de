package schedule

import (
	"fmt"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/tracker"
)

// feedback returns the unanswered feedback on an issue, without the rounds that the policy
// switches off. read is false if its conversation was not read. A conversation that ended in this
// plan leaves nothing unanswered: the next one begins after it.
func (pl *planner) feedback(id tracker.ID) (f Feedback, read bool) {
	f, read = pl.snap.Feedback[id]
	_, delivered := pl.state.Deliveries[id]
	ended := pl.freed[id] && !delivered
	if ended || f.Round == RoundSaid && pl.p.MaxRounds <= 0 || f.Round == RoundChecks && pl.p.MaxCheckRounds <= 0 {
		f.Round, f.Fresh, f.News = "", false, ""
	}
	if pl.obeyed[id] {
		f.Command = ""
	}
	if !delivered {
		f.Pull = "" // its delivery was forgotten since
	}
	return f.withOrder(pl.talk(id)), read
}

// withOrder returns the feedback with a command that was not given in a comment. It goes
// before one in a comment, which is not obeyed until then.
func (f Feedback) withOrder(talk Conversation) Feedback {
	if o := talk.PendingCommand; o.Command != "" {
		f.Command, f.By, f.Pending = o.Command, o.By, true
	}
	return f
}

// talk returns the conversation on an issue after the decisions so far.
func (pl *planner) talk(id tracker.ID) Conversation {
	if c, changed := pl.talks[id]; changed {
		return c
	}
	return pl.state.Conversations[id]
}

// setTalk changes the conversation on an issue for the rest of the plan.
func (pl *planner) setTalk(id tracker.ID, c Conversation) {
	if pl.talks == nil {
		pl.talks = map[tracker.ID]Conversation{}
	}
	pl.talks[id] = c
}

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

// answers reports whether a claim on the issue is one for feedback: without feedback
// there would be none.
func (pl *planner) answers(issue *tracker.Issue) bool {
	return !pl.rules.ineligibleToContinue(issue).None()
}

// rulesOf returns the rules for the issue of a claim, or for one without a claim.
func (pl *planner) rulesOf(c Claim) rules {
	if c.Feedback || c.Phase == "" {
		return pl.feedbackRules
	}
	return pl.rules
}

// startRules returns the rules for starting a session on the issue of a claim, or on one
// without a claim. They are the rules for feedback only if there would be no session
// without the feedback.
func (pl *planner) startRules(c Claim, known *tracker.Issue) rules {
	if (c.Feedback || c.Phase == "") && pl.answers(known) {
		return pl.feedbackRules
	}
	return pl.rules
}

// unclaimed returns a claim without a phase for each issue that has a delivery and no
// claim, and whose conversation was read or on which a command waits.
func (pl *planner) unclaimed() []Claim {
	var claims []Claim
	for id := range pl.state.Conversations {
		if _, read := pl.snap.Feedback[id]; !read && !pl.state.HasPendingCommand(id) {
			continue
		}
		_, claimed := pl.state.Claims[id]
		_, delivered := pl.state.Deliveries[id]
		if !claimed && delivered && !pl.state.Finishing[id] {
			claims = append(claims, pl.deliveredClaim(id))
		}
	}
	return claims
}

// deliveredClaim returns a synthetic claim for a delivered issue.
func (pl *planner) deliveredClaim(id tracker.ID) Claim {
	c := pl.talk(id).nextClaim(id)
	c.Identifier = pl.state.Deliveries[id].Identifier
	return c
}

// IsPending reports whether something must be decided because of the feedback.
func (f Feedback) IsPending() bool {
	return f.Round != "" || f.Command != "" || f.Pull == PullMerged || f.Pull == PullClosed
}

// finish decides that nothing more is done about an issue: its pull request was merged,
// or closed and the issue is over. An issue that a person moved back to an active state
// after its hand-over is only separated from that pull request.
func (pl *planner) finish(c Claim, known *tracker.Issue, f Feedback) {
	d := Decision{Action: Finish, ID: c.ID, Feedback: f, Clean: true, Why: mergedOrClosed(f), Hosts: c.Hosts()}
	issue := c.remembered()
	if known != nil {
		issue = *known
		again := pl.p.HandsOver && pl.rules.ineligibleToContinue(known).None() && pl.talk(c.ID).Sessions > 0
		d.Issue, d.Clean = issue, !again
		d.Move = f.Pull == PullMerged && !again && !pl.rules.terminal[tracker.NormalState(known.State)]
	}
	pl.taken[c.ID] = true
	pl.decide(d, issue, c.Phase)
}

// mergedOrClosed returns the end of a pull request as a reason.
func mergedOrClosed(f Feedback) Why {
	who := orElse(f.PullBy, "somebody")
	if f.Pull == PullMerged {
		return Why{Merged, who + " merged the pull request"}
	}
	return Why{Closed, who + " closed the pull request without merging it"}
}

// isFinished reports whether nothing more is to be done about an issue because of its
// pull request; known is nil if the tracker no longer shows it.
func (pl *planner) isFinished(known *tracker.Issue, f Feedback) bool {
	switch f.Pull {
	case PullMerged:
		return true
	case PullClosed:
		return known == nil || pl.feedbackRules.terminal[tracker.NormalState(known.State)]
	}
	return false
}

// obey decides the consequence of a pull request that was closed or reopened, and of the
// command of a person, for a claim without a session, or for an issue without a claim. It
// reports false if there is neither.
func (pl *planner) obey(c Claim, known *tracker.Issue, f Feedback) bool {
	closed := pl.talk(c.ID).Closed
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

// commanded returns a command as a reason, with its author.
func commanded(f Feedback) Why {
	verb := "wrote /symphony"
	if f.Pending {
		verb = "gave the command"
	}
	return Why{Commanded, fmt.Sprintf("%s %s %s", orElse(f.By, "somebody"), verb, f.Command)}
}

// free lets an issue go on, and starts a session on it if there is room.
func (pl *planner) free(c Claim, known *tracker.Issue, f Feedback, why Why) {
	d := Decision{Action: Free, ID: c.ID, Issue: *known, Why: why, Feedback: f, Answers: pl.answers(known)}
	pl.resumes = pl.resumes || f.Command == CommandResume
	pl.decide(d, *known, c.Phase)
	talk := pl.talk(c.ID)
	c.setFree(&talk, d, pl.now)
	pl.obeyed[c.ID] = !f.Pending
	c.observe(*known)
	pl.setTalk(c.ID, talk)
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
	case f.Round == RoundSaid || pl.talk(c.ID).Answer != "":
		pl.free(c, known, f, why)
	case !read && pl.snap.Feedback != nil:
		pl.note(*known, c.Phase, Why{NotKnown, why.Detail + ", and what people say about it could not be read"})
	default:
		pl.release(c, *known, why)
	}
}

// park keeps an issue claimed until a person acts.
func (pl *planner) park(c Claim, known *tracker.Issue, f Feedback, why Why) {
	pl.taken[c.ID] = true
	d := Decision{Action: Park, ID: c.ID, Issue: *known, Why: why, Feedback: f, Answers: pl.answers(known)}
	pl.decide(d, *known, c.Phase)
}

// isAnswered reports whether feedback lets a parked issue go on. A person's comment does. A
// check that fails asks nobody, so it does only where the sessions had nothing left to do.
func (pl *planner) isAnswered(c Claim, f Feedback) bool {
	talk, idle := pl.talk(c.ID), pl.p.Budget.IdleSessions
	switch f.Round {
	case RoundSaid:
		return f.Fresh
	case RoundChecks:
		fresh := f.Mark.Checks != talk.ParkedUpTo.Checks || f.Mark.Conflict != talk.ParkedUpTo.Conflict
		return fresh && idle > 0 && c.Idle >= idle && pl.roundsSpent(f, talk).None()
	}
	return false
}

// roundsSpent returns the reason for starting no session on new feedback; zero for none.
func (pl *planner) roundsSpent(f Feedback, talk Conversation) Why {
	switch {
	case f.Round == "", talk.again(f):
		return Why{}
	case f.Round == RoundSaid && talk.Rounds >= pl.p.MaxRounds:
		return withUnanswered(Why{RoundsSpent, fmt.Sprintf("spent %s of feedback.max_rounds %d on what people said", text.Count(talk.Rounds, "session"), pl.p.MaxRounds)}, f)
	case f.Round == RoundChecks && talk.CheckRounds >= pl.p.MaxCheckRounds:
		return withUnanswered(Why{RoundsSpent, fmt.Sprintf("spent %s of feedback.max_check_rounds %d on checks and conflicts", text.Count(talk.CheckRounds, "session"), pl.p.MaxCheckRounds)}, f)
	}
	return Why{}
}

// withUnanswered returns the reason with the unanswered feedback added, so that the feedback
// does not seem overlooked.
func withUnanswered(why Why, f Feedback) Why {
	if f.Round != "" && f.Summary != "" {
		why.Detail = why.String() + "; unanswered: " + f.Summary
	}
	return why
}

// stillParked returns the reason of a parked issue, with feedback that does not change it.
func stillParked(c Claim, f Feedback) Why {
	if f.Round == "" {
		return Why{IsParked, c.Why}
	}
	return Why{IsParked, c.Why + "; this does not let it go on: " + orElse(f.Summary, "what was said")}
}

// settleUnclaimed decides about feedback on an issue without a claim. If a session is
// due, startNew has to start it.
func (pl *planner) settleUnclaimed(c Claim, known *tracker.Issue, f Feedback) {
	if f.Round == "" {
		return
	}
	pl.taken[c.ID] = true
	if why := pl.startRules(c, known).ineligibleToStart(known); !why.None() {
		pl.note(*known, "", withUnanswered(why, f))
		return
	}
	if until := pl.state.Failed[c.ID]; until.After(pl.now) && pl.talk(c.ID).again(f) {
		why := Why{NotDue, fmt.Sprintf("the session on this ended without an answer, and the next one waits until %s", until.UTC().Format(time.RFC3339))}
		pl.note(*known, "", withUnanswered(why, f))
		return
	}
	if why := pl.mustPark(c, f); !why.None() && pl.answers(known) { // otherwise somebody moved it back
		pl.park(c, known, f, why)
		return
	}
	pl.due = append(pl.due, known)
}

// mustPark returns the reason for asking a person before the next session on an issue; zero
// for none.
func (pl *planner) mustPark(c Claim, f Feedback) Why {
	if why := pl.p.Budget.issueSpent(c); !why.None() {
		return why
	}
	return pl.roundsSpent(f, pl.talk(c.ID))
}

// startDue starts sessions on issues without a claim that are due because of their
// feedback. People wait for an answer, so each goes before the candidates of its
// priority; before is the next candidate, nil if there is none.
func (pl *planner) startDue(before *tracker.Issue) {
	for len(pl.due) > 0 && (before == nil || rank(pl.due[0].Priority) <= rank(before.Priority)) {
		issue := pl.due[0]
		pl.due = pl.due[1:]
		if why := pl.noRoomFor(issue); !why.None() {
			f, _ := pl.feedback(issue.ID)
			pl.note(*issue, "", withUnanswered(why, f))
			continue
		}
		pl.dispatch(*issue, "")
	}
}
