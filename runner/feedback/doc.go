// Package feedback reads the comments and checks on the work on issues, finds the part that
// nobody has answered, and answers it. A comment takes three forms on this way: the
// tracker's (on a pull request, package client's before it), an [Item], which has its place and
// how it counts, and the [github.com/symphony-runner/symphony/runner/prompt.Feedback] in it, which
// the agent is given.
//
//	[Channel.Read]  in each poll, and less often in a shard, the comments, reviews and checks of
//	                all issues with a claim or a delivery
//	[Judge]         the unanswered ones. It is the only place that decides this, it is pure,
//	                and so is everything but channel.go, kept.go and post.go
//	[Channel.Reply] the answer of an agent; Say and React are the program's own
//
// As long as nothing is new a read costs one request for each 100 issues and one for each 100
// pull requests; comments are read only where something has changed since the last read. They
// are kept in memory, so that after a change only the new ones are read, and whose
// word counts is decided again in each poll. A new process reads them once more.
//
// Nothing here reacts to an event. Judge compares the comments with the mark up to
// which everything was put before the agent; newer comments are unanswered. Whether a
// session starts for them is up to package schedule. So an event that was lost, or a run that
// was killed, only costs time. After a session, a command or a save of another run has moved a
// mark, earlier readings are judged again.
//
// # Whose word counts
//
// A person with write access, and the bots that WORKFLOW.md names. The texts of the program and
// its agent never count. Everything else is neither shown to the agent nor counted;
// [Unanswered.Ignored] says so for the report.
//
// # What is work
//
// A comment, a review that is not an approval, a comment in a thread that nobody has
// resolved, an answer to a question, a check of the program's own commit that failed, and
// a conflict with the base. An approval, a green check and a check that still runs are
// not. The same failures of the same commit are one item of feedback, however often they
// are read.
//
// A text that its author or another person with write access edits is said again, at the
// time of the edit: it counts, whether its older form was answered or not. A text that
// somebody else edited does not count any more. A deleted text is gone. [Unanswered.Changes]
// lists for the report the edits and deletions after the last reading, by the names that it
// left, and [Notes] the surprising parts of the items that an agent is given.
//
// # Commands
//
// A comment of a person with write access whose first line is /symphony and a word is an
// order to the program, see [schedule.Command]. The lines after it are feedback like
// any other comment.
//
// # What the program says
//
// It is made harmless first (mentions, commands and hidden text of an agent), bounded, and
// marked, so that the comment with the same key is replaced. Each wait has a comment of its own,
// and an answer in a review thread is always a new one.
package feedback
