package github

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// secondaryPause is how long GitHub's documentation asks to wait after a
// secondary limit that names no time.
const secondaryPause = time.Minute

// statusError is a [tracker.ErrStatus] whose status a caller may ask for.
type statusError struct {
	op     string
	status int
	mend   string // what to do about it
}

func newStatusError(op string, a answer, mend string) *statusError {
	return &statusError{op, a.status, mend}
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s: %v: %d %s: %s", e.op, tracker.ErrStatus, e.status, http.StatusText(e.status), e.mend)
}

func (e *statusError) Unwrap() error { return tracker.ErrStatus }

// refusal is the error of an answer that no caller can use: a rate limit or a
// bad credential.
func (c *client) refusal(op string, a answer) error {
	if a.status == http.StatusUnauthorized {
		return newStatusError(op, a, "the token is not valid: set tracker.provider.api_key ($GITHUB_TOKEN) anew")
	}
	if a.status != http.StatusForbidden && a.status != http.StatusTooManyRequests {
		return nil
	}
	now := time.Now()
	if wait, ok := retryAfter(a.header, now); ok {
		return &tracker.RateLimitError{Op: op, RetryAfter: wait}
	}
	if a.header.Get("X-RateLimit-Remaining") == "0" {
		return &tracker.RateLimitError{Op: op, RetryAfter: untilReset(a.header, now)}
	}
	if a.status == http.StatusTooManyRequests || a.secondary() {
		return &tracker.RateLimitError{Op: op, RetryAfter: secondaryPause}
	}
	return nil
}

// retryAfter is the wait that a header asks for, in seconds or as a date.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(value)
	return max(0, at.Sub(now)), err == nil
}

// untilReset is the wait until a primary limit begins anew, 0 when not told.
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

// unexpected is the error of a status that op does not allow for. The permission
// is the one that op needs.
func (r *repository) unexpected(op, permission string, a answer) error {
	mend := "see what GitHub says about this status"
	switch {
	case a.status == http.StatusForbidden:
		mend = "the token may not do this: give it " + cmp.Or(a.header.Get("X-Accepted-GitHub-Permissions"), permission)
	case a.status == http.StatusNotFound:
		mend = fmt.Sprintf("the repository %s is unknown or the token cannot see it: check tracker.provider.repo, and give the token %s",
			r.cfg.Repo, permission)
	case a.status == http.StatusGone:
		mend = fmt.Sprintf("issues are switched off in %s: switch them on in its settings", r.cfg.Repo)
	case a.status >= 300 && a.status < 400:
		mend = fmt.Sprintf("%s was renamed or moved: write its new name in tracker.provider.repo", r.cfg.Repo)
	}
	return newStatusError(op, a, mend)
}
