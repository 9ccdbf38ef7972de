package github

import (
	"errors"
	"fmt"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// failed returns the error of an operation whose request failed, in the category of
// the tracker; nil for nil.
func failed(op string, err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*transport.Error](err)
	_, unseen := errors.AsType[client.Unseen](err)
	switch {
	case unseen:
		return fmt.Errorf("%s: %w: %w", op, tracker.ErrStatus, err)
	case !ok:
		return fmt.Errorf("%s: %w", op, err)
	case e.Kind == transport.RateLimited:
		return &tracker.RateLimitError{Op: op, RetryAfter: e.Wait}
	case errors.Is(e, client.ErrPages):
		return fmt.Errorf("%s: %w: %w", op, tracker.ErrPagination, e)
	case e.Kind == transport.Unreadable:
		return fmt.Errorf("%s: %w: %w", op, tracker.ErrResponse, e)
	case e.Kind != transport.Refused:
		return fmt.Errorf("%s: %w: %w", op, tracker.ErrRequest, e)
	}
	refused := fmt.Errorf("%s: %w: %w", op, tracker.ErrStatus, e)
	if e.Wait > 0 {
		return &tracker.RetryLaterError{Err: refused, RetryAfter: e.Wait}
	}
	return refused
}

// clip returns the words of a server, cut to fit into an error. The caller quotes it.
func clip(message string) string { return text.Truncate(message, 200) }
