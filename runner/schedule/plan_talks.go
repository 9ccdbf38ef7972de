package schedule

import (
	"fmt"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/tracker"
)

// talks holds the conversations and the feedback on issues, after the decisions of a plan so far.
type talks struct {
	state   *State
	read    map[tracker.ID]Feedback
	p       Policy
	changed map[tracker.ID]Conversation // conversations that this plan changes; all others are in the state
	ended   map[tracker.ID]bool         // conversations that end with claims which this plan releases
	obeyed  map[tracker.ID]bool         // issues whose command in a comment this plan obeys
}

func (t *talks) of(id tracker.ID) Conversation {
	if c, changed := t.changed[id]; changed {
		return c
	}
	return t.state.Conversations[id]
}

// feedback returns the unanswered feedback on an issue, without the rounds that the policy
// switches off. read is false if its conversation was not read. A conversation that ended in this
// plan leaves nothing unanswered: the next one begins after it. A command that was not given in a
// comment goes before one in a comment, which is not obeyed until then.
func (t *talks) feedback(id tracker.ID) (f Feedback, read bool) {
	f, read = t.read[id]
	if t.ended[id] || f.Round == RoundSaid && t.p.MaxRounds <= 0 || f.Round == RoundChecks && t.p.MaxCheckRounds <= 0 {
		f.Round, f.Fresh, f.News = "", false, ""
	}
	if t.obeyed[id] {
		f.Command = ""
	}
	if _, delivered := t.state.Deliveries[id]; !delivered {
		f.Pull = "" // its delivery was forgotten since
	}
	if o := t.of(id).PendingCommand; o.Command != "" {
		f.Command, f.By, f.Pending = o.Command, o.By, true
	}
	return f, read
}

// unclaimed returns a claim without a phase for each issue that has a delivery and no
// claim, and whose conversation was read or on which a command waits.
func (t *talks) unclaimed() []Claim {
	var claims []Claim
	for id := range t.state.Conversations {
		if _, read := t.read[id]; !read && !t.state.HasPendingCommand(id) {
			continue
		}
		_, claimed := t.state.Claims[id]
		_, delivered := t.state.Deliveries[id]
		if !claimed && delivered && !t.state.Finishing[id] {
			claims = append(claims, t.deliveredClaim(id))
		}
	}
	return claims
}

func (t *talks) deliveredClaim(id tracker.ID) Claim {
	c := t.of(id).nextClaim(id)
	c.Identifier = t.state.Deliveries[id].Identifier
	return c
}

func (t *talks) lastHost(id tracker.ID) string {
	if c, claimed := t.state.Claims[id]; claimed {
		return c.Host
	}
	return t.of(id).Host
}

// mustPark returns the reason for asking a person before the next session on an issue; zero
// for none.
func (t *talks) mustPark(c Claim, f Feedback) Why {
	if why := t.p.Budget.issueSpent(c); !why.None() {
		return why
	}
	return t.roundsSpent(f, t.of(c.ID))
}

// isAnswered reports whether feedback lets a parked issue go on. A person's comment does. A
// check that fails asks nobody, so it does only where the sessions had nothing left to do.
func (t *talks) isAnswered(c Claim, f Feedback) bool {
	talk, idle := t.of(c.ID), t.p.Budget.IdleSessions
	switch f.Round {
	case RoundSaid:
		return f.Fresh
	case RoundChecks:
		fresh := f.Mark.Checks != talk.ParkedUpTo.Checks || f.Mark.Conflict != talk.ParkedUpTo.Conflict
		return fresh && idle > 0 && c.Idle >= idle && t.roundsSpent(f, talk).None()
	}
	return false
}

// roundsSpent returns the reason for starting no session on new feedback; zero for none.
func (t *talks) roundsSpent(f Feedback, talk Conversation) Why {
	switch {
	case f.Round == "", talk.again(f):
		return Why{}
	case f.Round == RoundSaid && talk.Rounds >= t.p.MaxRounds:
		return withUnanswered(Why{RoundsSpent, fmt.Sprintf("spent %s of feedback.max_rounds %d on what people said", text.Count(talk.Rounds, "session"), t.p.MaxRounds)}, f)
	case f.Round == RoundChecks && talk.CheckRounds >= t.p.MaxCheckRounds:
		return withUnanswered(Why{RoundsSpent, fmt.Sprintf("spent %s of feedback.max_check_rounds %d on checks and conflicts", text.Count(talk.CheckRounds, "session"), t.p.MaxCheckRounds)}, f)
	}
	return Why{}
}
