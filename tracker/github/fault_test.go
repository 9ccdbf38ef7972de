package github

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// listError returns the error of a list, which must return nothing else.
func (f *fake) listError(r *repository) error {
	f.t.Helper()
	issues, err := r.IssuesByState(f.t.Context(), []string{"open"})
	if err == nil || len(issues) != 0 {
		f.t.Fatalf("%d issues, %v: want an error", len(issues), err)
	}
	if strings.Contains(err.Error()+f.log.String(), fakeToken) {
		f.t.Errorf("the error or the log holds the token: %v", err)
	}
	return err
}

func TestARateLimitSaysHowLongToWait(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.open()
	f.failWith(http.StatusForbidden, map[string]string{"Retry-After": "7"}, `{}`)
	limit, ok := errors.AsType[*tracker.RateLimitError](f.listError(r))
	if want := (tracker.RateLimitError{Op: "list the open issues of acme/shop", RetryAfter: 7 * time.Second}); !ok || *limit != want {
		t.Errorf("got %+v, want %+v", limit, want)
	}
	if got := len(f.asked()); got != 1 {
		t.Errorf("%d requests, want 1", got)
	}
}

func TestARefusalNamesTheSettingToChange(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		401: "set tracker.provider.api_key ($GITHUB_TOKEN) to another one",
		403: "permissions: {issues: read}",
		404: "acme/shop is unknown or the token cannot see it: check tracker.provider.repo",
		301: "write its new name in tracker.provider.repo",
	} {
		f := newFake(t)
		r := f.open()
		f.failWith(status, nil, `{"message": "no"}`)
		if err := f.listError(r); !errors.Is(err, tracker.ErrStatus) || !strings.Contains(err.Error(), want) || len(err.Error()) > 260 {
			t.Errorf("%d: %v, want %q", status, err, want)
		}
	}
}

func TestALongRetryAfterEndsTheReadAtOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.open()
	f.failWith(http.StatusServiceUnavailable, map[string]string{"Retry-After": "3600"}, "")
	err := f.listError(r)
	if wait, asked := tracker.RetryAfter(err); !errors.Is(err, tracker.ErrStatus) || !asked || wait != time.Hour {
		t.Errorf("%v; asked to wait %v: %v", err, wait, asked)
	}
	if got := len(f.asked()); got != 1 {
		t.Errorf("%d requests, want 1", got)
	}
}

func TestAServerThatIsSilentOrGoneIsARequestThatDidNotGetThrough(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.open()
	r.client.Transport.Timeout = 20 * time.Millisecond
	f.setFault(func(_ http.ResponseWriter, q *http.Request) bool { <-q.Context().Done(); return true })
	if err := f.listError(r); !errors.Is(err, tracker.ErrRequest) || !strings.Contains(err.Error(), "no answer within 20ms") {
		t.Error(err)
	}
	f.Close()
	if err := f.listError(r); !errors.Is(err, tracker.ErrRequest) {
		t.Error(err)
	}
}

func TestAnswersThatCannotBeUnderstoodFail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ media, body string }{
		"cut":               {"application/json", `[{"number": 1, "title": "An`},
		"not JSON":          {"text/html", `<html>sign in</html>`},
		"JSON by no name":   {"", `[]`},
		"another payload":   {"application/json", `{"message": "hello"}`},
		"two payloads":      {"application/json", `[] []`},
		"nothing":           {"application/json", ``},
		"a page of strings": {"application/json", `"x"`},
	} {
		f := newFake(t)
		r := f.open()
		f.failWith(http.StatusOK, map[string]string{"Content-Type": test.media}, test.body)
		if err := f.listError(r); !errors.Is(err, tracker.ErrResponse) {
			t.Errorf("%s: %v, want %v", name, err, tracker.ErrResponse)
		}
	}
}

func TestPagesThatLeadNowhereFail(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.open()
	f.failWith(http.StatusOK, map[string]string{"Link": `<https://example.org/issues?page=2>; rel="next"`}, `[]`)
	if err := f.listError(r); !errors.Is(err, tracker.ErrPagination) {
		t.Errorf("%v, want %v", err, tracker.ErrPagination)
	}
}

func TestGraphQLFailuresAreNeverAnEmptyAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		body   string
		want   error
	}{
		"no data":        {200, `{"data": null, "errors": []}`, tracker.ErrResponse},
		"nothing":        {200, `{}`, tracker.ErrResponse},
		"an error":       {200, `{"data": null, "errors": [{"message": "Something went wrong"}]}`, tracker.ErrResponse},
		"rate limit":     {200, `{"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}`, tracker.ErrRateLimited},
		"forbidden":      {200, `{"data": {"nodes": [null]}, "errors": [{"type": "FORBIDDEN", "path": ["nodes", 0]}]}`, tracker.ErrStatus},
		"beside data":    {200, `{"data":{"nodes":[null]},"errors":[{"type":"FORBIDDEN","path":["nodes",0]}]}`, tracker.ErrStatus},
		"scopes":         {200, `{"errors": [{"type": "INSUFFICIENT_SCOPES", "message": "Your token"}]}`, tracker.ErrStatus},
		"too few nodes":  {200, `{"data": {"nodes": []}}`, tracker.ErrResponse},
		"other nodes":    {200, `{"data": {"nodes": [{"id": "I_2"}]}}`, tracker.ErrResponse},
		"another shape":  {200, `{"data": {"nodes": 7}}`, tracker.ErrResponse},
		"a status":       {403, `{"message": "Resource not accessible"}`, tracker.ErrStatus},
		"a fault":        {502, ``, tracker.ErrStatus},
		"a cut response": {200, `{"data": {"nodes": [`, tracker.ErrResponse},
	} {
		f := newFake(t)
		f.put(nil)
		r := f.open()
		f.setFault(func(w http.ResponseWriter, q *http.Request) bool {
			if q.Method == http.MethodPost {
				reply(w, test.status, nil, test.body)
			}
			return q.Method == http.MethodPost
		})
		if err := f.listError(r); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func TestAnErrorWithoutWordsIsASentenceAllTheSame(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"no body":             {418, "", "tracker_status: 418 I'm a teapot: see GitHub's documentation of this status"},
		"an empty object":     {599, "{}", "tracker_status: 599: GitHub has a fault"},
		"a query that failed": {200, `{"data": null, "errors": [{"type": "SOMETHING", "message": ""}]}`, "tracker_response: the query failed: try again later"},
		"a forbidden query":   {200, `{"data": null, "errors": [{"type": "FORBIDDEN", "message": " "}]}`, "tracker_status: 403 Forbidden: the token may not do this"},
	} {
		f := newFake(t)
		f.put(nil)
		r := f.open()
		f.setFault(func(w http.ResponseWriter, q *http.Request) bool {
			if test.status == http.StatusOK && q.Method == http.MethodGet {
				return false
			}
			reply(w, test.status, nil, test.body)
			return true
		})
		if err := f.listError(r); !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
