package github

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/untrusted"
)

// secondaryPause is how long GitHub's documentation asks to wait after a
// secondary limit that names no time.
const secondaryPause = time.Minute

// answer is what GitHub said, without the token.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// json reports whether the answer says that it is JSON.
func (a answer) json() bool {
	media, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// statusError is a [tracker.ErrStatus] with the answer that it is about.
type statusError struct {
	answer answer
	says   string // GitHub's own words, where they help
	op     string
	mend   string // what to do about it
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s: %v: %s%s: %s", e.op, tracker.ErrStatus, e.answer.named(), says(e.says), e.mend)
}

// named returns the status with its name, where it has one.
func (a answer) named() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)))
}

// says returns GitHub's words, fit to follow in an error; "" when there are none.
func says(message string) string {
	if strings.TrimSpace(message) == "" {
		return ""
	}
	return fmt.Sprintf(", GitHub says %q", clip(message))
}

func (e *statusError) Unwrap() error { return tracker.ErrStatus }

// status returns the status that GitHub refused with, 0 when it did not.
func status(err error) int {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.answer.status
	}
	return 0
}

// judge returns the error of an answer that is not 2xx.
func judge(a answer) error {
	if a.status >= 200 && a.status < 300 {
		return nil
	}
	if a.status == http.StatusForbidden || a.status == http.StatusTooManyRequests {
		now := time.Now()
		if wait, ok := retryAfter(a.header, now); ok {
			return &tracker.RateLimitError{RetryAfter: wait}
		}
		if a.header.Get("X-RateLimit-Remaining") == "0" {
			return &tracker.RateLimitError{RetryAfter: untilReset(a.header, now)}
		}
		if a.status == http.StatusTooManyRequests || a.secondary() {
			return &tracker.RateLimitError{RetryAfter: secondaryPause}
		}
	}
	return &statusError{answer: a}
}

// retryAfter returns the wait that a header asks for, in seconds or as a date.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(value)
	return max(0, at.Sub(now)), err == nil
}

// untilReset returns the wait until a primary limit is reset, 0 when the header is missing.
func untilReset(h http.Header, now time.Time) time.Duration {
	reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil {
		return 0
	}
	return max(time.Second, time.Unix(reset, 0).Sub(now).Round(time.Second))
}

// secondary reports whether a 403 is a secondary rate limit. The page it refers
// to is all that tells it from a missing permission when no header does.
func (a answer) secondary() bool {
	var said struct {
		Page string `json:"documentation_url"`
	}
	return json.Unmarshal(a.body, &said) == nil && strings.Contains(said.Page, "rate-limit")
}

// failed returns the error of a request that a library made: what the wire found, with
// what was asked for and what to do about it. The permission is the one that op needs.
func (r *repository) failed(ctx context.Context, op, permission string, err error) error {
	if ctx.Err() != nil { // the libraries keep the fact alone
		return fmt.Errorf("%s: %w: %w", op, tracker.ErrRequest, context.Cause(ctx))
	}
	if limit, ok := errors.AsType[*tracker.RateLimitError](err); ok {
		return &tracker.RateLimitError{Op: op, RetryAfter: limit.RetryAfter}
	}
	if e, ok := errors.AsType[*statusError](err); ok {
		refused := &statusError{e.answer, e.says, op, r.mend(permission, e.answer)}
		if wait, asked := retryAfter(e.answer.header, time.Now()); asked && wait > 0 && e.answer.status >= 500 {
			return &tracker.RetryLaterError{Err: refused, RetryAfter: wait.Round(time.Second)}
		}
		return refused
	}
	if sent, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%s: %w", op, sent.Err) // the wire has given it a category
	}
	return fmt.Errorf("%s: %w", op, unreadable(err))
}

// decode reads the answer into v, or fails with [tracker.ErrResponse].
func (a answer) decode(v any) error {
	if !a.json() {
		return unreadable(fmt.Errorf("content type %q instead of JSON", a.header.Get("Content-Type")))
	}
	if err := json.Unmarshal(a.body, v); err != nil {
		return unreadable(err)
	}
	return nil
}

// unreadable returns the error of an answer of an unexpected form.
func unreadable(err error) error {
	return fmt.Errorf("%w: %w: see that tracker.provider.api_url is the root of GitHub's REST API", tracker.ErrResponse, err)
}

// mend returns what to do about a status.
func (r *repository) mend(permission string, a answer) string {
	switch {
	case a.status == http.StatusUnauthorized:
		return "the token is not valid: set tracker.provider.api_key ($GITHUB_TOKEN) anew"
	case a.status == http.StatusForbidden:
		return "the token may not do this: give it " + cmp.Or(a.header.Get("X-Accepted-GitHub-Permissions"), permission)
	case a.status == http.StatusNotFound:
		return fmt.Sprintf("the repository %s is unknown or the token cannot see it: check tracker.provider.repo, and give the token %s",
			r.cfg.Repo, permission)
	case a.status == http.StatusGone:
		return fmt.Sprintf("issues are switched off in %s: switch them on in its settings", r.cfg.Repo)
	case a.status >= 300 && a.status < 400:
		return fmt.Sprintf("%s was renamed or moved: write its new name in tracker.provider.repo", r.cfg.Repo)
	case a.status >= 500:
		return "GitHub has a fault: try again later, see https://www.githubstatus.com"
	}
	return "see GitHub's documentation of this status"
}

// clip returns what a server says, cut to fit into an error. The caller quotes it.
func clip(message string) string { return untrusted.Truncate(message, 200) }
