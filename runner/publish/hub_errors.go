package publish

import (
	"errors"
	"net/http"

	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// categorized is an error with the category that the same failure of git has.
type categorized struct {
	error
	category error
}

// Is reports whether target is the category.
func (e categorized) Is(target error) bool { return target == e.category }

func (e categorized) Unwrap() error { return e.error }

// hubError returns the error of a request to GitHub with the category that a failure of
// git for the same reason has, so that the caller need not know how work is published.
func hubError(err error) error {
	e, ok := errors.AsType[*transport.Error](err)
	switch {
	case errors.Is(err, client.ErrApp):
		return categorized{err, git.ErrUnauthorized}
	case !ok:
		return err
	case errors.Is(err, client.ErrContent): // passes, and says nothing about the issue or the settings
		return categorized{err, git.ErrTimeout}
	case e.Kind != transport.Refused || e.Answer.Status >= 500:
		return categorized{err, git.ErrUnavailable}
	}
	if client.Says(err, "to create or update workflow") {
		return categorized{err, git.ErrWorkflows}
	}
	if client.Says(err, "rule violation") {
		return git.Rejected(err.Error(), err)
	}
	switch e.Answer.Status {
	case http.StatusUnauthorized:
		return categorized{err, git.ErrUnauthorized}
	case http.StatusForbidden:
		return categorized{err, git.ErrForbidden}
	case http.StatusNotFound:
		return categorized{err, git.ErrNotFound}
	}
	return categorized{err, git.ErrRejected}
}
