package schedule

import (
	"slices"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// Apply writes a decision into the state.
func (s *State) Apply(d Decision, now time.Time) {
	c, claimed := s.Claims[d.ID]
	talk := s.conversation(d.ID, now)
	if !claimed {
		c = talk.nextClaim(d.ID)
	}
	switch d.Action {
	case Dispatch:
		delete(s.Failed, d.ID)
		if !claimed && !d.Answers {
			c.sendBack(&talk, d.Feedback)
		}
		c.observe(d.Issue)
		c.setPhase(Running, "", now)
		c.moveTo(d.Host)
		if c.Sessions++; c.Sessions == 1 && c.Course.Ready.IsZero() {
			c.Course.begin(s.Queued, d.ID, now)
		}
		delete(s.Queued, d.ID)
		c.Course.Sessions++
		talk.Labels = d.Issue.Labels
		c.Feedback = d.Answers
		c.Unsettled = c.Unsettled && d.Feedback.Round == "" // only an agent can answer people
		if d.Owner != (Owner{}) {                           // the shard applies its own Dispatch, which gives the feedback to the session
			c.Owner, c.Lease = d.Owner, now.Add(d.Lease)
			s.reserve(d, now)
			break
		}
		c.Owner, c.Lease = s.Self, now.Add(leaseTime)
		if d.Feedback.Round == RoundSaid {
			c.Idle = 0 // there is something to do again
		}
		before := talk.Rounds + talk.CheckRounds
		talk.markPrompted(d.Feedback)
		c.Course.Rounds += talk.Rounds + talk.CheckRounds - before
		talk.markRead(d.Feedback)
		s.Tick.Sessions++
		s.today(now).Sessions++
	case Observe:
		if d.Feedback.Pending {
			talk.obey(d.Feedback)
		}
		talk.markRead(d.Feedback)
		if d.Issue.ID != "" {
			c.observe(d.Issue)
		}
	case Stop:
		s.countTime(now.Sub(c.Since), now) // Exit adds the time after the stop
		if d.Issue.ID != "" {
			c.observe(d.Issue)
		}
		c.setPhase(Stopping, d.Why.String(), now)
		c.StopReason = d.Why.Reason
		if c.StopReason.parks() {
			talk.park(d)
		}
	case Park:
		c.observe(d.Issue)
		c.setPhase(Parked, d.Why.String(), now)
		c.Feedback, c.Idle, c.Fault = d.Answers, 0, ""
		talk.park(d)
		s.addParked(c, d.Why.Reason, d.EndedAt(now))
	case Free:
		s.free(&c, &talk, d, now)
	case Release:
		talk.release(c, d.Why.Reason, d.Clean)
		if d.Clean {
			s.forgetLost(d.ID)
		}
	case Finish:
		talk.Course = c.Course // for its end, see Finished
	}
	switch {
	case d.Action == Release, d.Action == Finish:
		delete(s.Claims, d.ID)
	case d.Action != Observe || claimed:
		s.Claims[d.ID] = c
	}
	s.setConversation(d.ID, talk)
	if d.Action == Finish {
		if s.Finishing == nil {
			s.Finishing = map[tracker.ID]bool{}
		}
		s.Finishing[d.ID] = true
	}
}

// EndedAt returns the time of the end that the decision is about: the pull request was merged or
// closed then, or else it is now.
func (d Decision) EndedAt(now time.Time) time.Time {
	isPull := d.Why.Reason == Merged || d.Why.Reason == Closed
	if at := d.Feedback.PullAt; isPull && !at.IsZero() && at.Before(now) {
		return at
	}
	return now
}

// free lets an issue go on. A session that runs is left alone: the command of a person
// changes nothing for it.
func (s *State) free(c *Claim, talk *Conversation, d Decision, now time.Time) {
	if d.Why.Reason == Commanded && d.Feedback.Command == CommandResume {
		s.Resume(now)
	}
	if d.Issue.ID != "" {
		c.observe(d.Issue)
	}
	if c.holdsSlot() {
		talk.obey(d.Feedback)
		return
	}
	c.setFree(talk, d, now)
}

// moveTo sets the host of the next session. The agent's threads stay on their hosts, so on
// another one the session begins a new thread.
func (c *Claim) moveTo(host string) {
	c.LostUntil = time.Time{}
	if c.Host == host {
		return
	}
	var left []string
	for _, name := range append(slices.Clone(c.Left), c.Host) {
		if name != "" && name != host {
			left = append(left, name)
		}
	}
	c.Host, c.Left, c.Thread = host, left[max(len(left)-maxLeft, 0):], ""
}

// maxLeft bounds [Claim].Left.
const maxLeft = 200

// sendBack begins the claim of an issue that somebody moved back to an active state. It
// is looked at as a new one, unless there is feedback to go on with.
func (c *Claim) sendBack(talk *Conversation, f Feedback) {
	c.Tokens, c.Tariffs, talk.Rounds, talk.CheckRounds = 0, nil, 0, 0
	if f.Round == "" {
		c.Thread, c.Attempt = "", 0
	}
}

// setFree makes the claim due at once. If a person lets it go on, everything that is
// counted until a person is asked begins again.
func (c *Claim) setFree(talk *Conversation, d Decision, now time.Time) {
	c.setPhase(Waiting, d.Why.String(), now)
	c.Due = now
	c.Feedback = d.Answers
	if d.Why.Reason == Commanded {
		talk.obey(d.Feedback)
	}
	if d.Why.Reason == Commanded || d.Why.Reason == Changed || d.Feedback.Round == RoundSaid {
		c.Tokens, c.Tariffs = 0, nil
		talk.Rounds, talk.CheckRounds = 0, 0
	}
	if d.Feedback.Command == CommandRetry {
		c.Thread = ""
	}
	c.Attempt, c.Failures, c.Idle, c.Fault = attemptOn(c.Thread), 0, 0, ""
}
