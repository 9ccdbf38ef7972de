package tracker

import (
	"errors"
	"fmt"
	"time"
)

// The categories of tracker errors. Logs and reports show their text; errors.Is
// finds them. Scheduling does not depend on the category, only on whether a read
// succeeded. Each package declares its own categories, because the adapters import
// nothing of each other.
var (
	// ErrUnsupportedKind means that tracker.kind names no adapter.
	ErrUnsupportedKind = errors.New("unsupported_tracker_kind")
	// ErrInvalidConfig means that a setting of the adapter is wrong or missing.
	ErrInvalidConfig = errors.New("invalid_tracker_config")
	// ErrMissingSecret means that the credential is absent or empty.
	ErrMissingSecret = errors.New("missing_tracker_secret")
	// ErrRequest means that a request got no answer.
	ErrRequest = errors.New("tracker_request")
	// ErrStatus means that the tracker refused a request.
	ErrStatus = errors.New("tracker_status")
	// ErrResponse means that an answer is not valid.
	ErrResponse = errors.New("tracker_response")
	// ErrPagination means that the pages of a list do not fit together.
	ErrPagination = errors.New("tracker_pagination")
	// ErrRateLimited means that the tracker asks to wait; see [RateLimitError].
	ErrRateLimited = errors.New("tracker_rate_limited")

	// ErrNotVisible means that the issue to change does not exist, was moved out of the
	// configured scope, or may not be seen any more.
	ErrNotVisible = errors.New("tracker_issue_not_visible")
	// ErrFinished means that the issue to move is in a terminal state already.
	ErrFinished = errors.New("tracker_issue_finished")
	// ErrInvalidWrite means that the text or the name to write is not acceptable.
	ErrInvalidWrite = errors.New("invalid_tracker_write")
	// ErrInDoubt means that a request failed after it may have been carried out. The
	// error has the category of the failure too.
	ErrInDoubt = errors.New("tracker_write_in_doubt")
)

// PerhapsPosted returns the [ErrInDoubt] of a comment whose request failed with err.
func PerhapsPosted(err error) error {
	return fmt.Errorf("%w: %w: the comment may have been posted: the next call finds it", err, ErrInDoubt)
}

// RateLimitError is an [ErrRateLimited] with the time to wait.
type RateLimitError struct {
	Op         string        // the operation that failed
	RetryAfter time.Duration // 0 when the tracker did not say
}

func (e *RateLimitError) Error() string {
	if e.RetryAfter <= 0 {
		return fmt.Sprintf("%s: %v: try again later", e.Op, ErrRateLimited)
	}
	return fmt.Sprintf("%s: %v: try again in %v", e.Op, ErrRateLimited, e.RetryAfter)
}

func (e *RateLimitError) Unwrap() error { return ErrRateLimited }

// RetryLaterError is a failure other than a rate limit, after which the tracker said
// how long to wait: it is overloaded or under maintenance.
type RetryLaterError struct {
	Err        error
	RetryAfter time.Duration // never 0
}

func (e *RetryLaterError) Error() string {
	return fmt.Sprintf("%v: it asks to wait %v", e.Err, e.RetryAfter)
}
func (e *RetryLaterError) Unwrap() error { return e.Err }

// RetryAfter returns the time that the tracker asks to wait, 0 when it does not say how
// long. It returns false when the tracker does not ask.
func RetryAfter(err error) (time.Duration, bool) {
	if limit, ok := errors.AsType[*RateLimitError](err); ok {
		return limit.RetryAfter, true
	}
	if later, ok := errors.AsType[*RetryLaterError](err); ok {
		return later.RetryAfter, true
	}
	return 0, false
}
