package tracker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/internal/text"
)

// Writer changes issues for the program itself: it hands an issue over after a delivery. The
// agent's changes go through a [Tool] instead.
//
// Each method first reads the issue, and writes only what differs: a call that is repeated
// succeeds without a change. An issue that the [Reader] would not return is [ErrNotVisible].
// The other errors are of the categories of this package too; a [RateLimitError] has the time
// to wait, which is left to the caller. A method returns when ctx is done.
type Writer interface {
	// Comment sets the text of the program's comment with this key on the issue. It edits the
	// comment that was posted with the key before, wherever in the conversation that is, and
	// posts one if there is none. [PrepareComment] limits key and text. The text is posted as
	// it is: the caller has removed secrets, mentions and whatever else must not be published.
	//
	// Nothing posts a comment a second time within a call. An answer that was lost is
	// [ErrInDoubt]; the next call with the key finds the comment. Two calls for one issue and
	// key must not run at the same time.
	Comment(ctx context.Context, id ID, key, text string) error
	// Move gives the issue a state. A state that the tracker does not have is
	// [ErrInvalidConfig], and the error names those that exist. An issue in a terminal
	// state of the workflow is only moved to another terminal state, otherwise the
	// error is [ErrFinished]: somebody finished it meanwhile.
	Move(ctx context.Context, id ID, state string) error
	// Label adds a label to the issue, or removes it. Adding one that the tracker does
	// not have is [ErrInvalidConfig], and the error names those that exist.
	Label(ctx context.Context, id ID, label string, on bool) error
}

// MaxComment is the greatest length of a comment in bytes. GitHub takes twice as much.
const MaxComment = 32 << 10

var keyPattern = lazy.Regexp(`^[a-z][a-z0-9-]{0,63}$`)

// PrepareComment returns the text of a comment as every adapter posts it: the [PlainText]
// with comments of HTML made visible, so that no text can pass for a [CommentMarker]. It fails with
// [ErrInvalidWrite] if the key is not up to 64 lower-case letters, digits and hyphens,
// or if the text is blank or longer than [MaxComment].
func PrepareComment(key, comment string) (string, error) {
	if !keyPattern().MatchString(key) {
		return "", fmt.Errorf("%w: the key %q of the comment is not made of 1 to 64 lower-case letters, digits and hyphens", ErrInvalidWrite, key)
	}
	if len(comment) <= MaxComment { // otherwise preparing it is a waste
		comment = strings.ReplaceAll(PlainText(comment), "<!--", "&lt;!--")
	}
	switch {
	case comment == "":
		return "", fmt.Errorf("%w: the comment %q is empty", ErrInvalidWrite, key)
	case len(comment) > MaxComment:
		return "", fmt.Errorf("%w: the comment %q has %d bytes: shorten it to %d", ErrInvalidWrite, key, len(comment), MaxComment)
	}
	return comment, nil
}

// PlainText returns the text of a comment with plain line ends, without outer space,
// and with U+FFFD for invalid UTF-8 and for control characters, which could steer the
// terminal of a reader.
func PlainText(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
	return strings.TrimSpace(text)
}

// AgentKey is the key of the posts of an agent with a [Tool] where comments have markers.
const AgentKey = "agent"

// The parts of a marker before and after its key.
const markerStart, markerEnd = "<!-- symphony-comment: ", " -->"

// CommentMarker returns the line, invisible in Markdown, that ends a comment of the program
// or its agent where the tracker has no better way to know it.
func CommentMarker(key string) string { return markerStart + key + markerEnd }

// MarkedKey returns the key of the [CommentMarker] that is the last line of a comment; empty
// if none is. A marker that is quoted, or that a person writes below, marks nothing.
func MarkedKey(comment string) string {
	comment = strings.TrimRight(comment, " \t\r\n")
	key, starts := strings.CutPrefix(comment[strings.LastIndexAny(comment, "\r\n")+1:], markerStart)
	key, ends := strings.CutSuffix(key, markerEnd)
	if !starts || !ends || !keyPattern().MatchString(key) {
		return ""
	}
	return key
}

// IsMarked reports whether a comment ends with a [CommentMarker].
func IsMarked(comment string) bool { return MarkedKey(comment) != "" }

// Finishes reports whether a state is terminal in the workflow.
func (o Options) Finishes(state string) bool {
	state = NormalState(state)
	return slices.ContainsFunc(o.TerminalStates, func(t string) bool { return NormalState(t) == state })
}

// maxName is the greatest length of the name of a state or label, in runes.
const maxName = 100

// CheckName returns an [ErrInvalidConfig] unless a name can be a state or label: one line of at
// most 100 characters, in which outer space does not count. what is the word for it, state or
// label.
func CheckName(what, name string) error {
	if name = strings.TrimSpace(name); name == "" || utf8.RuneCountInString(name) > maxName || strings.ContainsFunc(name, isLineBreakOrControl) {
		return fmt.Errorf("%w: the %s %.200q is not one line of 1 to %d characters: correct it in WORKFLOW.md", ErrInvalidConfig, what, name, maxName)
	}
	return nil
}

// QuotedList returns names, quoted and separated by commas; "none" for none. It counts the names
// after the first 20 instead.
func QuotedList(names []string) string {
	const most = 20
	if len(names) == 0 {
		return "none"
	}
	quoted := make([]string, 0, most)
	for _, name := range names[:min(most, len(names))] {
		quoted = append(quoted, fmt.Sprintf("%q", text.Truncate(name, 200)))
	}
	list := strings.Join(quoted, ", ")
	if more := len(names) - most; more > 0 {
		list = fmt.Sprintf("%s and %d more", list, more)
	}
	return list
}

// UnknownNameError returns the [ErrInvalidConfig] about a state or label that does not exist.
// what is the word for it, state or label.
func UnknownNameError(what, name string, exist []string) error {
	if near := Nearest(name, exist); near != "" {
		return fmt.Errorf("%w: there is no %s %q: did you mean %q? There are %s", ErrInvalidConfig, what, name, near, QuotedList(exist))
	}
	return fmt.Errorf("%w: there is no %s %q: make it, or write one of %s", ErrInvalidConfig, what, name, QuotedList(exist))
}
