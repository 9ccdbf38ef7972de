package tracker

import (
	"errors"
	"fmt"
	"time"
)

// The categories of tracker errors. Their text is the category that logs and
// reports show; find them with errors.Is. Scheduling never branches on them:
// for it a read succeeded or failed. Each package declares its own categories: the
// leaves import nothing of each other.
var (
	// ErrUnsupportedKind: tracker.kind names no adapter.
	ErrUnsupportedKind = errors.New("unsupported_tracker_kind")
	// ErrInvalidConfig: an adapter setting is wrong or missing.
	ErrInvalidConfig = errors.New("invalid_tracker_config")
	// ErrMissingSecret: the credential is absent or empty.
	ErrMissingSecret = errors.New("missing_tracker_secret")
	// ErrRequest: the request did not get through.
	ErrRequest = errors.New("tracker_request")
	// ErrStatus: the tracker answered, and said no.
	ErrStatus = errors.New("tracker_status")
	// ErrResponse: the answer cannot be understood.
	ErrResponse = errors.New("tracker_response")
	// ErrPagination: the pages do not fit together.
	ErrPagination = errors.New("tracker_pagination")
	// ErrRateLimited: the tracker asks to wait; see [RateLimitError].
	ErrRateLimited = errors.New("tracker_rate_limited")
)

// RateLimitError is an [ErrRateLimited] with the time to wait.
type RateLimitError struct {
	Op         string        // what was asked for
	RetryAfter time.Duration // 0 when the tracker did not say
}

func (e *RateLimitError) Error() string {
	if e.RetryAfter <= 0 {
		return fmt.Sprintf("%s: %v: try again later", e.Op, ErrRateLimited)
	}
	return fmt.Sprintf("%s: %v: try again in %v", e.Op, ErrRateLimited, e.RetryAfter)
}

func (e *RateLimitError) Unwrap() error { return ErrRateLimited }

// RetryLaterError is a failure that is no rate limit, of a tracker that said how
// long it is to be left alone: it is overloaded or under maintenance.
type RetryLaterError struct {
	Err        error
	RetryAfter time.Duration // never 0
}

func (e *RetryLaterError) Error() string {
	return fmt.Sprintf("%v: it asks to wait %v", e.Err, e.RetryAfter)
}
func (e *RetryLaterError) Unwrap() error { return e.Err }

// RetryAfter returns how long the tracker asked to be left alone, 0 when it did
// not say how long, and false when it did not ask.
func RetryAfter(err error) (time.Duration, bool) {
	if limit, ok := errors.AsType[*RateLimitError](err); ok {
		return limit.RetryAfter, true
	}
	if later, ok := errors.AsType[*RetryLaterError](err); ok {
		return later.RetryAfter, true
	}
	return 0, false
}
