package linear

import "github.com/symphony-runner/symphony/tracker"

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
