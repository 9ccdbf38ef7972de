package prompt

import "time"

// Feedback is one thing that was said about the work on an issue, or that a check found.
type Feedback struct {
	ID     string // what the agent gives to the tool reply; empty if it cannot be answered
	Kind   FeedbackKind
	Author string // of a comment; the name of a check
	Text   string // Markdown of a person, or the output of a check
	URL    string
	Path   string // of the file that it is about; empty for none
	Line   int    // in that file; 0 for none
	Code   string // the part of the diff that it is about; empty for none
	At     time.Time
}

// FeedbackKind tells what an item of feedback is.
type FeedbackKind string

// The kinds of feedback.
const (
	FeedbackComment  FeedbackKind = "comment"  // on the issue or the pull request
	FeedbackReview   FeedbackKind = "review"   // the text of a review, or that it asks for changes
	FeedbackThread   FeedbackKind = "thread"   // a comment of a review on a line
	FeedbackAnswer   FeedbackKind = "answer"   // to a question of the agent
	FeedbackCheck    FeedbackKind = "check"    // a check that failed
	FeedbackConflict FeedbackKind = "conflict" // the branch conflicts with its base
)
