package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// errUnanswered is an [ErrUnavailable] that leaves open whether what was asked
// for has been done.
var errUnanswered = fmt.Errorf("%w: no good answer", ErrUnavailable)

// refusal is an [ErrRefused]: what was asked for has not been done.
type refusal struct {
	op     string // what it was for
	status int
	says   string // GitHub's own words, see wire.says
	mend   string
}

func (e *refusal) Error() string {
	return fmt.Sprintf("%s: %v: %d%s: %s", e.op, ErrRefused, e.status, e.says, e.mend)
}

func (e *refusal) Unwrap() error { return ErrRefused }

// isRefusal reports whether err is a refusal with one of these statuses, or with
// any when none is given.
func isRefusal(err error, statuses ...int) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && (len(statuses) == 0 || slices.Contains(statuses, r.status))
}

// failure is the error of an answer that is not good.
func (w *wire) failure(req *http.Request, resp *http.Response, body []byte) error {
	var said struct {
		Message string `json:"message"`
		Page    string `json:"documentation_url"`
	}
	_ = json.Unmarshal(body, &said) // an answer without words is one too
	status := resp.StatusCode
	if status >= 500 {
		return fmt.Errorf("%w: %d%s: try again later, see https://www.githubstatus.com", errUnanswered, status, w.says(said.Message))
	}
	// A page about rate limits is all that some secondary limits have to tell
	// them from a missing permission.
	limited := resp.Header.Get("X-RateLimit-Remaining") == "0" || resp.Header.Get("Retry-After") != "" || strings.Contains(said.Page, "rate-limit")
	if status == http.StatusTooManyRequests || status == http.StatusForbidden && limited {
		return fmt.Errorf("%w: the token's rate limit is used up until %s: run less often, or give another token",
			ErrUnavailable, limitEnds(resp.Header, time.Now()).UTC().Format(time.RFC3339))
	}
	return &refusal{status: status, says: w.says(said.Message), mend: w.mend(status, permission(req))}
}

// says returns GitHub's words, fit to follow in an error; "" when there are none.
func (w *wire) says(message string) string {
	message = strings.ReplaceAll(line(message, maxTitle), w.token, "***")
	if strings.TrimSpace(message) == "" {
		return ""
	}
	return ", GitHub says " + strconv.Quote(message)
}

// limitEnds is when a rate limit begins anew; in a minute when it is not said,
// as GitHub's documentation asks.
func limitEnds(h http.Header, now time.Time) time.Time {
	if seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 31); err == nil {
		return now.Add(time.Duration(seconds) * time.Second)
	}
	if reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); err == nil {
		return time.Unix(reset, 0)
	}
	return now.Add(time.Minute)
}

// permission is what a token needs for a request, as a workflow writes it.
func permission(req *http.Request) string {
	switch {
	case strings.Contains(req.URL.Path, "/actions/runs"):
		return "actions: read"
	case req.Method == http.MethodGet:
		return "contents: read"
	}
	return "contents: write"
}

// mend is what to do about a status.
func (w *wire) mend(status int, need string) string {
	switch {
	case status >= 300 && status < 400:
		return "the repository or the branch was renamed: give the name it has now"
	case status == http.StatusUnauthorized:
		return "the token is not valid: give another one"
	case status == http.StatusForbidden:
		return fmt.Sprintf("the token may not do this: write `permissions: {%s}` in the workflow, or give a token that may", need)
	case status == http.StatusNotFound:
		return fmt.Sprintf("see that the repository %s exists, and give a token that may see it (%s)", w.repo, need)
	case status == http.StatusConflict:
		return "push a first commit if the repository is empty"
	}
	return "see GitHub's documentation of this status"
}
