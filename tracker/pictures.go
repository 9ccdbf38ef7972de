package tracker

import (
	"context"
	"errors"
	"iter"
)

// Picture is a picture on an issue.
type Picture struct {
	Comment string // ID of the comment that shows it; empty for the issue itself
	Address string // as the text has it
}

// Pictures reads the pictures on issues.
type Pictures interface {
	// Attached returns the pictures, and other files, that are attached to an issue apart from its
	// texts.
	Attached(ctx context.Context, issue Issue) ([]Picture, error)
	// Read yields the content of each picture in their order, or the reason why it cannot be read,
	// in a few words and without a secret. A content of more than limit bytes is [ErrTooLarge]. It
	// asks no server but the tracker's own, and none for a picture that is elsewhere, which is
	// [ErrElsewhere].
	Read(ctx context.Context, issue Issue, pictures []Picture, limit int) iter.Seq2[[]byte, error]
}

// Reasons why a picture cannot be read.
var (
	ErrElsewhere = errors.New("it is not kept by the tracker")
	ErrTooLarge  = errors.New("it is too large")
)
