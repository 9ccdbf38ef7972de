package linear

import (
	"errors"
	"fmt"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// category is the name that SPEC §11.4 has for an error, and the category that
// all trackers share.
type category struct {
	name string
	kind error
}

func (c category) Error() string { return c.name }
func (c category) Unwrap() error { return c.kind }

var (
	errMissingKey  = category{"missing_tracker_api_key", tracker.ErrMissingSecret}
	errMissingSlug = category{"missing_tracker_project_slug", tracker.ErrInvalidConfig}
	errRequest     = category{"linear_api_request", tracker.ErrRequest}
	errStatus      = category{"linear_api_status", tracker.ErrStatus}
	errGraphQL     = category{"linear_graphql_errors", tracker.ErrResponse}
	errPayload     = category{"linear_unknown_payload", tracker.ErrResponse}
	errCursor      = category{"linear_missing_end_cursor", tracker.ErrPagination}
)

// refusal is why an exchange gave no result. It leaves the RoundTripper, so the
// GraphQL client, which keeps neither status nor headers nor codes, passes it on.
type refusal struct {
	error                   // category and reason; no text of the server is in it unmasked
	limited   bool          // a rate limit
	transient bool          // worth another try
	after     time.Duration // the wait that the server asks for; 0 when it does not say
	body      []byte        // the answer, where it is one of GraphQL with errors
}

// failed returns the error of an operation whose exchange failed.
func (w wire) failed(op string, err error) error {
	var r *refusal
	switch {
	case !errors.As(err, &r):
		// The answer does not have the shape of the query. The text may quote it.
		return fmt.Errorf("%s: %w: %s: see that tracker.endpoint is the address of Linear's GraphQL API", op, errPayload, w.mask.quote(err.Error()))
	case r.limited:
		return &tracker.RateLimitError{Op: op, RetryAfter: r.after}
	}
	err = fmt.Errorf("%s: %w", op, r.error)
	if r.transient && r.after > 0 {
		return &tracker.RetryLaterError{Err: err, RetryAfter: r.after.Round(time.Second)}
	}
	return err
}
