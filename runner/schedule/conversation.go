package schedule

import (
	"slices"
	"time"
)

// GoOn tells people how to let a parked issue go on. Every text that says so uses it.
const GoOn = "Reply in a comment on the issue or its pull request (write access is needed), or write /symphony retry there."

// Conversation holds what a run leaves to the next about what people and checks say
// about an issue. There is one for each issue that has a claim or a delivery, and it ends
// with the last of both.
type Conversation struct {
	Heard  Mark // everything up to here was put before the agent, or does not count
	Given  Mark // what the latest session was given
	Parked Mark // what was known when the issue was parked: only what is newer lets it go on
	Obeyed Mark // the commands up to here are obeyed

	Pull        string // digest of the pull request when all of it was last read; empty for never
	Closed      bool   // the issue is parked because its pull request was closed without a merge
	Rounds      int    // sessions on what people said, since somebody let the issue go on
	CheckRounds int    // sessions on checks and conflicts alone, likewise
	Asked       string // the agent's question that nobody has answered; empty for none
	Posted      string // digest of what the program said last, so that it is not said again

	// What the next claim of the issue begins with.
	Thread   string
	Sessions int
	Tokens   int64
}

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

// The rounds. The zero value is no round.
const (
	RoundSaid   Round = "said"   // somebody said something; checks and a conflict may be with it
	RoundChecks Round = "checks" // checks failed or the branch conflicts with its base, and nobody said anything
)

// Command is an order of a person to the program.
type Command string

// The commands, as they follow /symphony. The zero value is no command.
const (
	CommandRetry  Command = "retry"  // begin again: failures, rounds and the thread are forgotten
	CommandResume Command = "resume" // go on where it stopped; a pause of everything ends
	CommandStop   Command = "stop"   // end its session and park it
	CommandPark   Command = "park"   // park it when no session works on it
	CommandStatus Command = "status" // say how it stands
)

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
	Summary string // what is unanswered, in one line: "2 comments of kim, 1 failed check"
	Mark    Mark   // what a session that starts now is given

	Command Command // the latest of a trusted person that was not obeyed; a status is none
	By      string  // who gave it
	Obeyed  Mark    // the mark when it is obeyed

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
