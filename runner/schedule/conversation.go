package schedule

import (
	"slices"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/tracker"
)

// Conversation is the state of the conversation with people and checks about an issue, for the
// next run. There is one for each issue that has a claim or a delivery, and it ends with the
// last of both.
//
// Some names in JSON are older than the fields.
type Conversation struct {
	ReadUpTo     Mark `json:"heard,omitzero"`  // the agent has read everything up to here, or it does not count
	PromptedUpTo Mark `json:"given,omitzero"`  // the latest session was given everything up to here
	ParkedUpTo   Mark `json:"parked,omitzero"` // the issue was parked after this: only newer feedback lets it go on
	CommandsUpTo Mark `json:"obeyed,omitzero"` // commands up to here are obeyed; zero means up to ReadUpTo

	// Read holds the names of the latest comments that count and were read, sorted. Package
	// feedback makes them.
	Read []string `json:"read,omitempty" bound:"list=100 whole=256"`

	Pull        string `json:"pull,omitempty" bound:"whole=256"` // digest of the pull request when all of it was last read; empty for never
	Checks      Checks `json:"checks,omitempty" bound:"word"`    // state of the checks of the pull request's head when last read; empty for none, and after the head moved
	Closed      bool   `json:"closed,omitempty"`                 // the issue is parked because its pull request was closed without a merge
	Rounds      int    `json:"rounds,omitempty"`                 // sessions on people's comments, since somebody let the issue go on
	CheckRounds int    `json:"check_rounds,omitempty"`           // sessions on checks and conflicts alone, since then
	// Moved says that the work of the last session was not published because somebody else
	// had moved the branch: the next session is not another round.
	Moved          bool   `json:"moved,omitempty"`
	Asked          string `json:"asked,omitempty" bound:"lines=4000"`  // the agent's question that nobody has answered; empty for none
	Posted         string `json:"posted,omitempty" bound:"whole=256"`  // key of the comment that says that the issue waits; empty if it does not wait
	PendingCommand Order  `json:"ordered,omitzero"`                    // command from outside of comments that is not obeyed yet; zero for none
	Answer         string `json:"answer,omitempty" bound:"lines=4000"` // answer from outside of comments, for the next session; empty for none

	// The following fields begin the next claim of the issue.
	Thread   string   `json:"thread,omitempty" bound:"whole=256"`
	Host     string   `json:"host,omitempty" bound:"whole=256"`
	Left     []string `json:"left,omitempty" bound:"list=200 whole=256"`
	Sessions int      `json:"sessions,omitempty"`
	Tokens   int64    `json:"tokens,omitempty"`
	Tariffs  Tariffs  `json:"tariffs,omitempty" bound:"list=32"`
	Course   Course   `json:"course,omitzero"`

	Labels []string `json:"labels,omitempty" bound:"list=100 whole=256"` // labels of the issue when its last session began
}

// Checks is the state of the checks of a commit, in the word that people are shown.
type Checks string

// The checks of a commit. The zero value is for a commit without checks, and for unknown
// checks.
const (
	ChecksGreen   Checks = "green"
	ChecksRed     Checks = "red"
	ChecksRunning Checks = "running"
)

// Known reports whether this program has the value.
func (c Checks) Known() bool {
	return slices.Contains([]Checks{"", ChecksGreen, ChecksRed, ChecksRunning}, c)
}

// Mark is a place in a conversation. A comment may become visible after a later one, so
// the comments of the last minutes are known by name.
type Mark struct {
	At       time.Time `json:"at,omitzero"`                              // everything that was said until then is before the mark
	IDs      []string  `json:"ids,omitempty" bound:"list=100 whole=256"` // names of the later comments that are before it too, sorted; package feedback makes them
	Checks   string    `json:"checks,omitempty" bound:"whole=256"`       // digest of the head and the checks that failed; empty for none
	Conflict string    `json:"conflict,omitempty" bound:"whole=256"`     // the head that conflicts with its base; empty for none
}

// Round is the reason for a session on feedback.
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

// Waits reports whether a command can wait for a run to obey it.
func (c Command) Waits() bool {
	return slices.Contains([]Command{CommandRetry, CommandResume, CommandStop, CommandPark}, c)
}

// Order is a command that a person gave by starting a run, or on the status page.
type Order struct {
	Command Command `json:"command" bound:"word"`
	By      string  `json:"by,omitempty" bound:"whole=256"`      // may be empty
	Answer  string  `json:"answer,omitempty" bound:"lines=4000"` // answer to the agent, in several lines; empty for none
}

// PullState is the state of the pull request of an issue.
type PullState string

// The states of a pull request. The zero value says that there is none, or that it was
// not read.
const (
	PullOpen   PullState = "open"
	PullMerged PullState = "merged"
	PullClosed PullState = "closed" // it was not merged
)

// Feedback is the part of the conversation on an issue that a plan needs.
type Feedback struct {
	Round    Round  // reason for a session; empty when nothing is unanswered
	Fresh    bool   // some of it is newer than the mark at which the issue was parked
	Prompted bool   // the latest session was given all of it; only answers of the program may be newer
	Summary  string // the unanswered feedback in one line: "2 comments of kim, 1 failed check"
	News     string // what people said after the latest session was given the rest, in one line; empty for nothing
	Mark     Mark   // mark for a session that starts now; zero if the feedback was too large to be read

	Command      Command // the latest command of a trusted person that was not obeyed; never status, which changes nothing
	By           string  // person who gave it
	CommandsUpTo Mark    // mark after Command is obeyed
	Pending      bool    // Command is [Conversation.PendingCommand], not a comment

	Pull   PullState
	PullBy string    // person who merged or closed it; may be empty
	PullAt time.Time // time at which it was merged or closed; zero if it is not known
}

// IsPending reports whether something must be decided because of the feedback.
func (f Feedback) IsPending() bool {
	return f.Round != "" || f.Command != "" || f.Pull == PullMerged || f.Pull == PullClosed
}

// IsZero reports whether the mark was never set.
func (m Mark) IsZero() bool {
	return m.At.IsZero() && len(m.IDs) == 0 && m.Checks == "" && m.Conflict == ""
}

// Equal reports whether both are the same place.
func (m Mark) Equal(other Mark) bool {
	return m.At.Equal(other.At) && slices.Equal(m.IDs, other.IDs) && m.Checks == other.Checks && m.Conflict == other.Conflict
}

// IsAt reports whether both have the same marks: the same is unanswered in both.
func (c Conversation) IsAt(other Conversation) bool {
	return c.ReadUpTo.Equal(other.ReadUpTo) && c.PromptedUpTo.Equal(other.PromptedUpTo) && c.ParkedUpTo.Equal(other.ParkedUpTo) &&
		c.CommandsUpTo.Equal(other.CommandsUpTo) && (c.Asked == "") == (other.Asked == "")
}

// nextClaim returns a claim that begins where the last one on the issue ended.
func (c Conversation) nextClaim(id tracker.ID) Claim {
	return Claim{ID: id, Attempt: attemptOn(c.Thread), Thread: c.Thread, Host: c.Host, Left: c.Left, Sessions: c.Sessions, Tokens: c.Tokens, Tariffs: c.Tariffs, Course: c.Course}
}

// attemptOn returns the attempt of a session that begins with no failures behind it.
func attemptOn(thread string) int {
	if thread == "" {
		return 0
	}
	return 1
}

// release keeps the start values of the next claim. If a person changed something, the next one
// begins again.
func (c *Conversation) release(claim Claim, why Reason, clean bool) {
	c.Thread, c.Sessions, c.Tokens, c.Tariffs, c.Course, c.Closed = claim.Thread, claim.Sessions, claim.Tokens, claim.Tariffs, claim.Course, false
	if clean || why == Changed {
		c.Thread = "" // its files are gone, or the issue is looked at as a new one
	}
	if c.Host, c.Left = claim.Host, claim.Left; clean {
		c.Host, c.Left = "", nil // its workspaces are gone
	}
	if why == Changed || why == Reopened {
		c.Tokens, c.Tariffs, c.Rounds, c.CheckRounds = 0, nil, 0, 0
	}
}

// markPrompted notes the feedback that a session is given. That is one more round, unless
// the last session failed with the same, or somebody moved the branch under it.
func (c *Conversation) markPrompted(f Feedback) {
	if f.Round == "" {
		c.PromptedUpTo = c.ReadUpTo
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
	c.PromptedUpTo, c.Moved = f.Mark, false
}

// markSteered notes that the session in progress was given everything that people said up to
// a mark. Checks and conflicts wait for the next session. It changes nothing if more counts as read
// by now, because the words were deleted meanwhile: the end of the session would take that back.
func (c *Conversation) markSteered(m Mark) {
	if m.At.Before(c.ReadUpTo.At) {
		return
	}
	m.Checks, m.Conflict = c.PromptedUpTo.Checks, c.PromptedUpTo.Conflict
	c.PromptedUpTo = m
}

// again reports whether the last session was given the same and failed.
func (c Conversation) again(f Feedback) bool {
	return (f.Prompted || f.Mark.Equal(c.PromptedUpTo)) && c.isUnanswered()
}

// isUnanswered reports whether the latest session was given feedback and has not answered it.
func (c Conversation) isUnanswered() bool { return !c.PromptedUpTo.Equal(c.ReadUpTo) }

// markRead notes that everything that was said so far does not count or was answered.
func (c *Conversation) markRead(f Feedback) {
	if c.isMarkedRead(f) {
		return
	}
	c.ReadUpTo, c.PromptedUpTo, c.CommandsUpTo = f.Mark, f.Mark, Mark{}
}

// isMarkedRead reports whether markRead would change nothing.
func (c Conversation) isMarkedRead(f Feedback) bool {
	return f.Round != "" || f.Command != "" || f.Mark.IsZero() || f.Mark.Equal(c.ReadUpTo) && c.CommandsUpTo.IsZero()
}

func (c *Conversation) obey(f Feedback) {
	if f.Pending {
		if c.PendingCommand.Answer != "" {
			c.Answer = text.Head(c.PendingCommand.Answer, maxAsked)
		}
		c.PendingCommand = Order{} // the comments are not obeyed with it
		return
	}
	c.CommandsUpTo, f.Command = f.CommandsUpTo, ""
	c.markRead(f)
}

// park notes the latest feedback when a person is asked: only newer feedback lets the issue
// go on.
func (c *Conversation) park(d Decision) {
	f := d.Feedback
	if c.ParkedUpTo = c.PromptedUpTo; !f.Mark.IsZero() {
		c.ParkedUpTo = f.Mark
	}
	c.Closed = d.Why.Reason == Closed
	if f.Command != "" && d.Why.Reason.parks() {
		c.obey(f)
	}
	c.markRead(f)
}

// end notes how a session ended whose claim is in the given phase after it.
func (c *Conversation) end(o Outcome, stop Reason, phase Phase) {
	if o.Class == Done || o.Class == NeedsInput {
		c.ReadUpTo, c.Asked, c.Answer = c.PromptedUpTo, text.Head(o.Question, maxAsked), ""
	}
	c.Moved = o.Moved
	if phase == Parked && !stop.parks() {
		c.ParkedUpTo = c.PromptedUpTo
	}
}

const maxAsked = 4000
