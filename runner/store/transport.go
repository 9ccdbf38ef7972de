package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxTries bounds how often a request is sent whose failure may be temporary.
const maxTries = 3

// transport is the http.RoundTripper below go-github. It bounds the size of an
// answer and the time of a try, retries temporary failures, and follows no
// redirect: the token goes to one host alone, and a renamed repository is noticed.
// It returns an answer without success as an error, a [statusError] or an
// [ErrUnavailable]. It removes the rate limits from the others, because go-github
// would refuse requests on its own by them.
type transport struct {
	base       http.RoundTripper
	token      string        // must not appear in an error
	repo       string        // owner/name, for errors
	apiRoot    string        // URL of the API, for errors
	timeout    time.Duration // of one try
	retryPause time.Duration // before the second try, on average
}

type withoutRetryKey struct{}

// withoutRetry returns a context whose requests are sent once: the caller decides
// whether to send them again.
func withoutRetry(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutRetryKey{}, true)
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_ = req.Body.Close() // each try has its own
	}
	for try := 1; ; try++ {
		resp, err := t.send(req)
		if !errors.Is(err, errUnanswered) || req.Context().Value(withoutRetryKey{}) != nil || try == maxTries {
			return resp, err
		}
		if cause := t.pauseBeforeRetry(req.Context(), try); cause != nil {
			return nil, fmt.Errorf("%w: %w", err, cause)
		}
	}
}

// pauseBeforeRetry waits after the failed try, or returns the cause of ctx.
func (t *transport) pauseBeforeRetry(ctx context.Context, try int) error {
	timer := time.NewTimer(time.Duration(float64(t.retryPause) * float64(try) * (0.5 + rand.Float64())))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// send sends the request once and reads the whole answer.
func (t *transport) send(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(req.Context(), t.timeout, fmt.Errorf("no answer within %v", t.timeout))
	defer cancel()
	unanswered := func(err error) error {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("%w: %w: see that %s can be reached, and try again", errUnanswered, err, t.apiRoot)
	}
	fresh := req.Clone(ctx)
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, unanswered(err)
		}
		fresh.Body = body
	}
	resp, err := t.base.RoundTrip(fresh)
	if err != nil {
		return nil, unanswered(err)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBytes+1))
	_ = resp.Body.Close() // everything we use has been read
	if err != nil {
		return nil, unanswered(err)
	}
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return nil, t.responseError(req, resp, body)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	for _, header := range []string{"Limit", "Remaining", "Reset"} {
		resp.Header.Del("X-RateLimit-" + header)
	}
	return resp, nil
}

// errUnanswered is an [ErrUnavailable] after which the request may or may not
// have been carried out.
var errUnanswered = fmt.Errorf("%w: no good answer", ErrUnavailable)

// statusError is an [ErrRefused]: GitHub answered with this status, and did not
// carry out the request.
type statusError struct {
	op      string // what the request was for
	status  int
	message string // GitHub's own words, see quoteMessage
	remedy  string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s: %v: %d%s: %s", e.op, ErrRefused, e.status, e.message, e.remedy)
}

func (e *statusError) Unwrap() error { return ErrRefused }

// isStatusError reports whether err is a statusError with one of these statuses,
// or with any status if none is given.
func isStatusError(err error, statuses ...int) bool {
	r, ok := errors.AsType[*statusError](err)
	return ok && (len(statuses) == 0 || slices.Contains(statuses, r.status))
}

// responseError returns the error for an answer without success.
func (t *transport) responseError(req *http.Request, resp *http.Response, body []byte) error {
	var said struct {
		Message string `json:"message"`
		Page    string `json:"documentation_url"`
	}
	_ = json.Unmarshal(body, &said) // an answer need not have a message
	status := resp.StatusCode
	if status >= 500 {
		return fmt.Errorf("%w: %d%s: try again later, see https://www.githubstatus.com", errUnanswered, status, t.quoteMessage(said.Message))
	}
	// Some secondary rate limits differ from a missing permission only by the page
	// of the documentation that they name.
	limited := resp.Header.Get("X-RateLimit-Remaining") == "0" || resp.Header.Get("Retry-After") != "" || strings.Contains(said.Page, "rate-limit")
	if status == http.StatusTooManyRequests || status == http.StatusForbidden && limited {
		return fmt.Errorf("%w: the token's rate limit is used up until %s: run less often, or give another token",
			ErrUnavailable, rateLimitReset(resp.Header, time.Now()).UTC().Format(time.RFC3339))
	}
	return &statusError{status: status, message: t.quoteMessage(said.Message), remedy: t.remedyFor(status, requiredPermission(req))}
}

// quoteMessage returns GitHub's message quoted, as the continuation of an error,
// without the token; "" for an empty one.
func (t *transport) quoteMessage(message string) string {
	message = strings.ReplaceAll(oneLine(message, maxTitle), t.token, "***")
	if strings.TrimSpace(message) == "" {
		return ""
	}
	return ", GitHub says " + strconv.Quote(message)
}

// rateLimitReset returns when the rate limit ends: one minute from now if the
// answer does not say, as GitHub's documentation asks.
func rateLimitReset(h http.Header, now time.Time) time.Time {
	if seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 31); err == nil {
		return now.Add(time.Duration(seconds) * time.Second)
	}
	if reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); err == nil {
		return time.Unix(reset, 0)
	}
	return now.Add(time.Minute)
}

// requiredPermission returns the permission that a request needs, in the syntax
// of a workflow.
func requiredPermission(req *http.Request) string {
	switch {
	case strings.Contains(req.URL.Path, "/actions/runs"):
		return "actions: read"
	case req.Method == http.MethodGet:
		return "contents: read"
	}
	return "contents: write"
}

// remedyFor returns what a person can do about a status; permission is the one
// that the request needs.
func (t *transport) remedyFor(status int, permission string) string {
	switch {
	case status >= 300 && status < 400:
		return "the repository or the branch was renamed: give the name it has now"
	case status == http.StatusUnauthorized:
		return "the token is not valid: give another one"
	case status == http.StatusForbidden:
		return fmt.Sprintf("the token may not do this: write `permissions: {%s}` in the workflow, or give a token that may", permission)
	case status == http.StatusNotFound:
		return fmt.Sprintf("see that the repository %s exists, and give a token that may see it (%s)", t.repo, permission)
	case status == http.StatusConflict:
		return "push a first commit if the repository is empty"
	}
	return "see GitHub's documentation of this status"
}
