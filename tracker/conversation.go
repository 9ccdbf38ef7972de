package tracker

import (
	"context"
	"time"
)

// Comment is a text of one account in the conversation on an issue or a pull request.
type Comment struct {
	ID     string // stable and unique in its conversation; opaque
	Author string // name of the account for people; empty for a deleted one
	// Own says that the program or its agent wrote it. This does not follow from the
	// account: if the credential is a person's, that person writes comments with the same
	// account.
	Own bool
	Bot bool // the account is not a person
	// Distrust is the reason why the word of the author does not count, in a few words; empty
	// for a person with write access to the tracker.
	Distrust string
	Text     string // the text as written
	URL      string
	At       time.Time // time when it was published or last edited
}

// Comments holds the comments of one conversation, oldest first.
type Comments struct {
	List      []Comment
	Truncated bool // there are more than [MaxComments], and the older ones are left out
	// Unread says that there are too many to be read now: List is empty, and nothing of
	// the conversation counts as read. A later call reads them.
	Unread bool
}

// MaxComments bounds the comments of one conversation that are read at once: the newest. It is
// more than GitHub allows on an issue, so nobody can push out the comments of others.
const MaxComments = 10_000

// Reaction is a sign for the author of a comment about its result.
type Reaction string

// The reactions.
const (
	Obeyed  Reaction = "obeyed"  // the program obeyed the comment
	Unknown Reaction = "unknown" // the program does not understand it
)

// Conversation reads the comments on issues. The program's own texts go through
// [Writer.Comment].
type Conversation interface {
	// CommentsSince returns the comments that were published or edited at or after a time in the
	// conversation of each issue; no entry for an issue without any. It asks for all
	// issues together, with at most one request for each 100 of them as long as nothing
	// is new. It leaves out an issue that is not visible any more. Text is as written:
	// the caller treats it as data.
	CommentsSince(ctx context.Context, since map[ID]time.Time) (map[ID]Comments, error)
	// React adds a reaction to a comment; a call that is repeated changes nothing. It
	// does nothing where the tracker has no reactions.
	React(ctx context.Context, id ID, comment string, r Reaction) error
}

type feedbackKey struct{}

// WithFeedback returns a context in which [Reader.IssuesByID] decides whether an open issue
// is dispatchable as for one that was worked on before and handed over: without regard to
// its state and to labels, which may have vouched for it.
func WithFeedback(ctx context.Context) context.Context {
	return context.WithValue(ctx, feedbackKey{}, true)
}

// ForFeedback reports whether a context comes from [WithFeedback].
func ForFeedback(ctx context.Context) bool {
	is, _ := ctx.Value(feedbackKey{}).(bool)
	return is
}
