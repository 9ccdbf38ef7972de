package schedule

// GoOnByEdit tells people how to let a parked issue go on where the program reads no comments.
const GoOnByEdit = "Change the issue in its tracker: its text, state, labels, priority or blockers."

// Comments is the place where people write the comments that the program reads. Every text that
// tells people to write one uses it. The zero value is for nowhere.
type Comments struct {
	Issues IssueComments
	Pulls  bool // comments on pull requests, which are on GitHub, are read
}

// IssueComments is the place where people write comments on an issue.
type IssueComments int

// The places of comments on issues.
const (
	NoIssueComments IssueComments = iota // none are read
	OnTheIssue                           // people comment beside the issue, in its tracker
	OnGitHub                             // the same, where only people with write access are heard
	InTheFile                            // the file of the issue
)

// AnyComments stands for the place of comments where the tracker is not known.
var AnyComments = Comments{OnGitHub, true}

// GoOn tells people how to let a parked issue go on.
func (c Comments) GoOn() string {
	if c == (Comments{}) {
		return GoOnByEdit
	}
	return "Reply in a comment " + c.place() + c.condition() + ", or write /symphony retry there."
}

// Command returns the advice to give a command for an issue, for the inside of a sentence;
// empty where no comments are read.
func (c Comments) Command(command Command) string {
	if c == (Comments{}) {
		return ""
	}
	return "write /symphony " + string(command) + " in a comment " + c.place() + c.condition()
}

// Resume returns the advice to end a pause of everything, without a full stop; empty where
// no comments are read.
func (c Comments) Resume() string {
	place := " on an issue that waits"
	switch {
	case c == Comments{}:
		return ""
	case c.Issues == NoIssueComments:
		place = " on the pull request of an issue that waits" + c.condition()
	case c.Issues == InTheFile:
		place = " in the file of an issue that waits"
	case c.Issues == OnGitHub:
		place += c.condition()
	}
	return "To try at once, write /symphony " + string(CommandResume) + " in a comment" + place
}

// place returns the place for comments on an issue and its pull request.
func (c Comments) place() string {
	switch {
	case c.Issues == NoIssueComments:
		return "on the pull request"
	case c.Issues == InTheFile && c.Pulls:
		return "in the file of the issue or on its pull request"
	case c.Issues == InTheFile:
		return "in the file of the issue"
	case c.Pulls:
		return "on the issue or pull request"
	}
	return "on the issue"
}

// condition returns the condition for comments that count, in brackets after a space; empty
// for none.
func (c Comments) condition() string {
	if c.Pulls || c.Issues == OnGitHub {
		return " (on GitHub with write access)"
	}
	return ""
}
