// Package feedback decides what people and checks said about the work on an issue that
// nobody has answered. It is pure: its input is what was read from outside, a [World],
// and what earlier runs have left, a [schedule.Conversation].
//
// Nothing here reacts to an event. [Read] compares what there is with the mark up to
// which everything was put before the agent; what is newer is unanswered, and makes the
// issue due. So an event that was lost, or a run that was killed, only costs time.
//
// # Whose word counts
//
// A person with write access, and the bots that WORKFLOW.md names. What the program and
// its agent wrote never counts. Everything else is neither shown to the agent nor counted;
// [News.Ignored] says so for the report.
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
// somebody else edited does not count any more. What was deleted is gone. [News.Changes]
// says for the report what people edited or deleted after it had been read, from the names
// that the last reading left, and [Notes] what is unexpected in what an agent is given.
//
// # Commands
//
// A comment of a person with write access whose first line is /symphony and a word is an
// order to the program, see [schedule.Command]. What follows that line is feedback like
// any other comment.
package feedback
