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
		s.dispatch(&c, &talk, d, claimed, now)
	case Observe:
		if d.Feedback.Pending {
			talk.obey(d.Feedback)
		}
		talk.markRead(d.Feedback)
		c.observe(d.Issue)
	case Stop:
		s.countTime(now.Sub(c.Since), now) // Exit adds the time after the stop
		c.observe(d.Issue)
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
		if d.Why.Reason == Commanded && d.Feedback.Command == CommandResume {
			s.Resume(now)
		}
		if c.observe(d.Issue); c.Phase.HasSession() { // the command of a person changes nothing for its session
			talk.obey(d.Feedback)
		} else {
			c.setFree(&talk, d, now)
		}
	case Release:
		talk.release(c, d.Why.Reason, d.Clean)
		if d.Clean {
			s.forgetLost(d.ID)
		}
	case Finish:
		talk.Course = c.Course // for its end, see Finished
		if s.Finishing == nil {
			s.Finishing = map[tracker.ID]bool{}
		}
		s.Finishing[d.ID] = true
	}
	switch {
	case d.Action == Release, d.Action == Finish:
		delete(s.Claims, d.ID)
	case d.Action != Observe || claimed:
		s.Claims[d.ID] = c
	}
	s.setConversation(d.ID, talk)
}

// dispatch begins a session. A claim on an issue that somebody moved back to an active state is
// looked at as a new one, unless there is feedback to go on with.
func (s *State) dispatch(c *Claim, talk *Conversation, d Decision, claimed bool, now time.Time) {
	delete(s.Failed, d.ID)
	if !claimed && !d.Answers {
		c.Tokens, c.Tariffs, talk.Rounds, talk.CheckRounds = 0, nil, 0, 0
		if d.Feedback.Round == "" {
			c.Thread, c.Attempt = "", 0
		}
	}
	c.observe(d.Issue)
	c.setPhase(Running, "", now)
	c.moveTo(d.Host)
	if c.Sessions++; c.Sessions == 1 && c.Course.Ready.IsZero() {
		c.Course.Ready = now.UTC().Truncate(time.Second)
		if since, known := s.Queued[d.ID]; known {
			c.Course.Ready = since
		}
	}
	delete(s.Queued, d.ID)
	c.Course.Sessions++
	talk.Labels = d.Issue.Labels
	c.Feedback = d.Answers
	c.Unsettled = c.Unsettled && d.Feedback.Round == "" // only an agent can answer people
	if d.Owner != (Owner{}) {                           // the shard applies its own Dispatch, which gives the feedback to the session
		c.Owner, c.Lease = d.Owner, now.Add(d.Lease)
		s.reserve(d, now)
		return
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

const maxLeft = 200

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

// Finished forgets an issue whose [Finish] was performed, and records its end. A Finish that was
// not performed is decided again in the next tick. pull is the end of its pull request, and at
// its time.
func (s *State) Finished(id tracker.ID, pull PullState, at time.Time) {
	delete(s.Finishing, id)
	d, delivered := s.Deliveries[id]
	if !delivered {
		return
	}
	talk := s.Conversations[id]
	c := talk.nextClaim(id)
	c.Identifier = d.Identifier
	switch {
	case pull == PullMerged:
		s.addEnd(c, EndMerged, "", at)
	case !talk.Closed: // otherwise it is recorded since it was parked
		s.addEnd(c, EndClosed, "", at)
	}
	s.Deliver(id, Delivery{})
}
