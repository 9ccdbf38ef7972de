package schedule

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/symphony-runner/symphony/tracker"
)

// Conversation holds what a run leaves to the next about what people and checks say
// about an issue. There is one for each issue that has a claim or a delivery, and it ends
// with the last of both.
type Conversation struct {
	Heard  Mark // everything up to here was put before the agent, or does not count
	Given  Mark // what the latest session was given
	Parked Mark // what was known when the issue was parked: only what is newer lets it go on
	Obeyed Mark // the commands up to here are obeyed; zero for those up to Heard

	// Read holds the names of the latest comments that count and were read, sorted. Package
	// feedback makes them.
	Read []string

	Pull        string // digest of the pull request when all of it was last read; empty for never
	Checks      Checks // of the head of the pull request, as they were read last; empty for none, and when it moved since
	Closed      bool   // the issue is parked because its pull request was closed without a merge
	Rounds      int    // sessions on what people said, since somebody let the issue go on
	CheckRounds int    // sessions on checks and conflicts alone, since then
	// Moved says that the work of the last session was not published because somebody else
	// had moved the branch: the next session is not another round.
	Moved   bool
	Asked   string // the agent's question that nobody has answered; empty for none
	Posted  string // digest of what the program said last, so that it is not said again
	Ordered Order  // a command that was not given in a comment and is not obeyed yet; zero for none
	Answer  string // that was not given in a comment, for the next session; empty for none

	// What the next claim of the issue begins with.
	Thread   string
	Sessions int
	Tokens   int64
}

// Checks says how the checks of a commit stand, in the word that people are shown.
type Checks string

// The checks of a commit. The zero value is for a commit without checks, and for what is
// not known.
const (
	ChecksGreen   Checks = "green"
	ChecksRed     Checks = "red"
	ChecksRunning Checks = "running"
)

// Mark is a place in a conversation. A comment may become visible after a later one, so
// those of the last minutes are known by name.
type Mark struct {
	At       time.Time // everything that was said until then is before the mark
	IDs      []string  // names of the later comments that are before it too, sorted; package feedback makes them
	Checks   string    // digest of the head and the checks that failed; empty for none
	Conflict string    // the head that conflicts with its base; empty for none
}

// Round tells what a session on feedback is for.
type Round string

// The rounds. The zero value stands for no round.
const (
	RoundSaid   Round = "said"   // somebody said something; checks and a conflict may be with it
	RoundChecks Round = "checks" // checks failed or the branch conflicts with its base, and nobody said anything
)

// Command is an order of a person to the program.
type Command string

// The commands, as they follow /symphony. The zero value stands for no command.
const (
	CommandRetry  Command = "retry"  // begin again: failures, rounds and the thread are forgotten
	CommandResume Command = "resume" // go on where it stopped; a pause of everything ends
	CommandStop   Command = "stop"   // end its session and park it
	CommandPark   Command = "park"   // park it when no session works on it
	CommandStatus Command = "status" // say how it stands
)

// Order is a command that a person gave by starting a run, or on the status page.
type Order struct {
	Command Command
	By      string // may be empty
	Answer  string // to the agent, in several lines; empty for none
}

// PullState tells what became of the pull request of an issue.
type PullState string

// The states of a pull request. The zero value says that there is none, or that it was
// not read.
const (
	PullOpen   PullState = "open"
	PullMerged PullState = "merged"
	PullClosed PullState = "closed" // without a merge
)

// Feedback is what a plan needs to know of the conversation on an issue.
type Feedback struct {
	Round   Round  // what a session would be for; empty when nothing is unanswered
	Fresh   bool   // some of it is newer than the mark at which the issue was parked
	Given   bool   // none of it is newer than what the latest session was given; answers of the program may be
	Summary string // what is unanswered, in one line: "2 comments of kim, 1 failed check"
	Mark    Mark   // what a session that starts now is given; zero if it was too much to be read

	Command Command // the latest command of a trusted person that was not obeyed; never status, which changes nothing
	By      string  // who gave it
	Obeyed  Mark    // the mark when it is obeyed
	Ordered bool    // it is [Conversation.Ordered], not a comment

	Pull   PullState
	PullBy string // who merged or closed it; may be empty
}

// IsZero reports whether the mark was never set.
func (m Mark) IsZero() bool {
	return m.At.IsZero() && len(m.IDs) == 0 && m.Checks == "" && m.Conflict == ""
}

// Equal reports whether both are the same place.
func (m Mark) Equal(other Mark) bool {
	return m.At.Equal(other.At) && slices.Equal(m.IDs, other.IDs) && m.Checks == other.Checks && m.Conflict == other.Conflict
}

// conversation returns the conversation on an issue. One that begins has heard all that
// was said so far: only what is said later is feedback.
func (s *State) conversation(id tracker.ID, now time.Time) Conversation {
	if c, known := s.Conversations[id]; known {
		return c
	}
	begin := Mark{At: now.UTC()}
	return Conversation{Heard: begin, Given: begin}
}

// converse stores the conversation on an issue as long as there is something to talk
// about: a claim or a delivery.
func (s *State) converse(id tracker.ID, c Conversation) {
	_, claimed := s.Claims[id]
	_, delivered := s.Deliveries[id]
	if !claimed && !delivered {
		delete(s.Conversations, id)
		return
	}
	if s.Conversations == nil {
		s.Conversations = map[tracker.ID]Conversation{}
	}
	s.Conversations[id] = c
}

// StartConversations adds the conversations that a state of an older version lacks. What
// was said until now is not answered.
func (s *State) StartConversations(now time.Time) {
	for id := range s.Claims {
		s.converse(id, s.conversation(id, now))
	}
	for id := range s.Deliveries {
		s.converse(id, s.conversation(id, now))
	}
}

// Order notes a command on an issue, for the run that can obey it: the one that works on
// the issue, else any. It reports false for an issue without a claim and a delivery.
func (s *State) Order(id tracker.ID, o Order, now time.Time) bool {
	c := s.conversation(id, now)
	c.Ordered = o
	s.converse(id, c)
	_, talks := s.Conversations[id]
	return talks
}

// IsOrdered reports whether a command on the issue is not obeyed yet that was not given in
// a comment.
func (s *State) IsOrdered(id tracker.ID) bool { return s.Conversations[id].Ordered.Command != "" }

// Finished forgets an issue whose [Finish] was performed. One that was not performed
// is decided again in the next tick.
func (s *State) Finished(id tracker.ID) {
	delete(s.Finishing, id)
	s.Deliver(id, Delivery{})
}

// nextClaim returns a claim that begins where the last one on the issue ended.
func (c Conversation) nextClaim(id tracker.ID) Claim {
	return Claim{ID: id, Attempt: attemptOn(c.Thread), Thread: c.Thread, Sessions: c.Sessions, Tokens: c.Tokens}
}

// attemptOn returns the attempt of a session that begins with no failures behind it.
func attemptOn(thread string) int {
	if thread == "" {
		return 0
	}
	return 1
}

// release keeps what the next claim begins with. If a person changed something, the next
// one begins again.
func (c *Conversation) release(claim Claim, why Reason, clean bool) {
	c.Thread, c.Sessions, c.Tokens, c.Closed = claim.Thread, claim.Sessions, claim.Tokens, false
	if clean || why == Changed {
		c.Thread = "" // its files are gone, or the issue is looked at as a new one
	}
	if why == Changed || why == Reopened {
		c.Tokens, c.Rounds, c.CheckRounds = 0, 0, 0
	}
}

// give notes what a session is given, which is one more round unless the last session
// failed with the same, or somebody moved the branch under it. What is not given stays
// unanswered.
func (c *Conversation) give(f Feedback) {
	if f.Round == "" {
		c.Given = c.Heard
		return
	}
	if !c.again(f) && !c.Moved {
		switch f.Round {
		case RoundSaid:
			c.Rounds++
		case RoundChecks:
			c.CheckRounds++
		}
	}
	c.Given, c.Moved = f.Mark, false
}

// again reports whether the last session was given the same and failed.
func (c Conversation) again(f Feedback) bool {
	return (f.Given || f.Mark.Equal(c.Given)) && c.isUnanswered()
}

// isUnanswered reports whether the latest session was given feedback and has not answered it.
func (c Conversation) isUnanswered() bool { return !c.Given.Equal(c.Heard) }

// hear notes that everything that was said so far does not count or was answered.
func (c *Conversation) hear(f Feedback) {
	if c.hasHeard(f) {
		return
	}
	c.Heard, c.Given, c.Obeyed = f.Mark, f.Mark, Mark{}
}

// hasHeard reports whether hear would change nothing.
func (c Conversation) hasHeard(f Feedback) bool {
	return f.Round != "" || f.Command != "" || f.Mark.IsZero() || f.Mark.Equal(c.Heard) && c.Obeyed.IsZero()
}

// obey notes that the command was obeyed.
func (c *Conversation) obey(f Feedback) {
	if f.Ordered {
		if c.Ordered.Answer != "" {
			c.Answer = shorten(c.Ordered.Answer, maxAsked)
		}
		c.Ordered = Order{} // the comments are not obeyed with it
		return
	}
	c.Obeyed, f.Command = f.Obeyed, ""
	c.hear(f)
}

// park notes what was known when a person was asked: only what is newer lets the issue go
// on.
func (c *Conversation) park(d Decision) {
	f := d.Feedback
	if c.Parked = c.Given; !f.Mark.IsZero() {
		c.Parked = f.Mark
	}
	c.Closed = d.Why.Reason == Closed
	if f.Command != "" && d.Why.Reason.parks() {
		c.obey(f)
	}
	c.hear(f)
}

// end notes how a session ended whose claim is in the given phase after it.
func (c *Conversation) end(o Outcome, stop Reason, phase Phase) {
	if o.Class == Done || o.Class == NeedsInput {
		c.Heard, c.Asked, c.Answer = c.Given, shorten(o.Question, maxAsked), ""
	}
	c.Moved = o.Moved
	if phase == Parked && !stop.parks() {
		c.Parked = c.Given
	}
}

// maxAsked bounds the bytes of a question.
const maxAsked = 4000

// shorten returns the beginning of a text, at most n bytes, without a part of a character.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
