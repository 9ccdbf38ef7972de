package schedule

import (
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// Change is something that happened during a run and that no plan decides: the end of a
// session, a push, a command. A run applies it to its own state at once, and again to the
// state of a run that saved first. Decisions are not repeated like this: they are made again.
type Change interface {
	// Apply writes the change into a state, with the policy in force. It does nothing if the
	// state has no place for it any more.
	Apply(s *State, p Policy)
}

// SessionEnded is the end of a session of this run.
type SessionEnded struct {
	ID      tracker.ID
	Session int // number of the session on its issue
	Outcome Outcome
	At      time.Time
}

// Apply calls [State.Exit] if the claim still belongs to the session.
func (c SessionEnded) Apply(s *State, p Policy) {
	if s.Claims[c.ID].Sessions == c.Session {
		s.Exit(c.ID, c.Outcome, p, c.At)
	}
}

// Excused takes back the charge of a failure that turned out not to be the issue's.
type Excused struct {
	Before Claim // claim before the charge
	Why    string
	At     time.Time
}

// Apply calls [State.Excuse].
func (c Excused) Apply(s *State, _ Policy) { s.Excuse(c.Before, c.Why, c.At) }

// Delivered is a step of the publication of an issue's work.
type Delivered struct {
	ID       tracker.ID
	Delivery Delivery
}

// Apply calls [Issues.Deliver] if this run still has the claim.
func (c Delivered) Apply(s *State, _ Policy) {
	if s.Claims[c.ID].Owner == s.Self {
		s.Deliver(c.ID, c.Delivery)
	}
}

// Finished says that a [Finish] was performed.
type Finished struct {
	ID   tracker.ID
	Pull PullState // end of its pull request
	At   time.Time // time of that end
}

// Apply calls [State.Finished].
func (c Finished) Apply(s *State, _ Policy) { s.Finished(c.ID, c.Pull, c.At) }

// Steered says that a session in progress was given what people said since it began.
type Steered struct {
	ID      tracker.ID
	Session int  // number of the session on its issue
	Mark    Mark // everything up to here was given
}

// Apply moves the mark of the conversation if the claim still belongs to the session.
func (c Steered) Apply(s *State, _ Policy) {
	claim := s.Claims[c.ID]
	talk, known := s.Conversations[c.ID]
	if !known || claim.Owner != s.Self || !claim.Phase.HasSession() || claim.Sessions != c.Session {
		return
	}
	talk.markSteered(c.Mark)
	s.Conversations[c.ID] = talk
}

// CommandGiven is a command from outside of comments.
type CommandGiven struct {
	ID    tracker.ID
	Order Order
	At    time.Time
}

// Apply calls [Issues.Order].
func (c CommandGiven) Apply(s *State, _ Policy) { s.Order(c.ID, c.Order, c.At) }

// PausePassed says that a test of the cause of a pause passed.
type PausePassed struct {
	Began time.Time // start of the pause
	At    time.Time
}

// Apply calls [State.TestPassed].
func (c PausePassed) Apply(s *State, _ Policy) { s.TestPassed(c.Began, c.At) }

// ShardSettled is the result of a shard that was accepted.
type ShardSettled struct {
	Owner Owner
	Slice *State
	At    time.Time
}

// Apply calls [State.Settle].
func (c ShardSettled) Apply(s *State, p Policy) {
	_, _ = s.Settle(c.Owner, c.Slice, p, c.At) // the same result was accepted before
}

// ConversationRead is progress of the run itself in the conversation on an issue. A nil field
// stays as it is.
type ConversationRead struct {
	ID           tracker.ID
	Read         *[]string
	Pull, Posted *string
	Checks       *Checks
	CommandsUpTo *Mark
}

// Apply changes the conversation, if there is one.
func (c ConversationRead) Apply(s *State, _ Policy) {
	talk, known := s.Conversations[c.ID]
	if !known {
		return
	}
	set(&talk.Read, c.Read)
	set(&talk.Pull, c.Pull)
	set(&talk.Posted, c.Posted)
	set(&talk.Checks, c.Checks)
	set(&talk.CommandsUpTo, c.CommandsUpTo)
	s.Conversations[c.ID] = talk
}

func set[T any](to, value *T) {
	if value != nil {
		*to = *value
	}
}
