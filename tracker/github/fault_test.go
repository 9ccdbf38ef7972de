package github

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// listError is the error of a list, which must give nothing else.
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

func TestRateLimitsSayHowLongToWaitAndAreNotSleptOn(t *testing.T) {
	t.Parallel()
	reset := strconv.FormatInt(time.Now().Add(30*time.Minute).Unix(), 10)
	for name, test := range map[string]struct {
		status     int
		header     map[string]string
		body       string
		from, upTo time.Duration
	}{
		"primary":                {403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}, `{}`, 29 * time.Minute, 31 * time.Minute},
		"primary as 429":         {429, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}, `{}`, 29 * time.Minute, 31 * time.Minute},
		"secondary with a time":  {403, map[string]string{"Retry-After": "7"}, `{}`, 7 * time.Second, 7 * time.Second},
		"secondary with a date":  {429, map[string]string{"Retry-After": time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)}, `{}`, 59 * time.Minute, time.Hour},
		"secondary without":      {403, nil, `{"documentation_url": "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`, time.Minute, time.Minute},
		"429 that says nothing":  {429, nil, `nonsense`, time.Minute, time.Minute},
		"primary without a time": {403, map[string]string{"X-RateLimit-Remaining": "0"}, `{}`, 0, 0},
	} {
		f := newFake(t)
		r := f.open()
		f.failWith(test.status, test.header, test.body)
		err := f.listError(r)
		limit, ok := errors.AsType[*tracker.RateLimitError](err)
		if !ok || limit.RetryAfter < test.from || limit.RetryAfter > test.upTo {
			t.Errorf("%s: %v: want a wait of %v to %v", name, err, test.from, test.upTo)
		}
		if got := len(f.asked()); got != 1 {
			t.Errorf("%s: %d requests, want 1", name, got)
		}
	}
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		header map[string]string
		want   string
	}{
		"401":             {401, nil, "the token is not valid: set tracker.provider.api_key"},
		"403":             {403, nil, "give it the permission issues: read"},
		"403 with a hint": {403, map[string]string{"X-Accepted-GitHub-Permissions": "issues=read"}, "give it issues=read"},
		"404":             {404, nil, "acme/shop is unknown or the token cannot see it"},
		"410":             {410, nil, "issues are switched off in acme/shop"},
		"301":             {301, map[string]string{"Location": "http://127.0.0.1:1/"}, "write its new name in tracker.provider.repo"},
		"418":             {418, nil, "see GitHub's documentation"},
	} {
		f := newFake(t)
		r := f.open()
		f.failWith(test.status, test.header, `{"message": "no"}`)
		if err := f.listError(r); !errors.Is(err, tracker.ErrStatus) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if got := len(f.asked()); got != 1 {
			t.Errorf("%s: %d requests, want 1", name, got)
		}
	}
}

func TestAFaultOfTheServerIsTriedTwiceAgain(t *testing.T) {
	t.Parallel()
	for failures, works := range map[int]bool{1: true, 2: true, 3: false} {
		f := newFake(t)
		f.put(nil)
		r := f.open()
		left := failures
		f.disturb(func(w http.ResponseWriter, _ *http.Request) bool {
			left--
			if left < 0 {
				return false
			}
			if left == 0 {
				w.Header().Set("Retry-After", "0")
			}
			w.WriteHeader(http.StatusBadGateway)
			return true
		})
		issues, err := r.IssuesByState(t.Context(), []string{"open"})
		if works != (err == nil) || works != (len(issues) == 1) || err != nil && !errors.Is(err, tracker.ErrStatus) {
			t.Errorf("%d failures: %d issues, %v", failures, len(issues), err)
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

func TestACancelledReadDoesNotWaitForItsNextTry(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.open()
	r.wire.pause = time.Hour // would be waited for, were it not capped
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	f.disturb(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusBadGateway)
		cancel(stop)
		return true
	})
	if _, err := r.IssuesByState(ctx, []string{"open"}); !errors.Is(err, stop) || !errors.Is(err, tracker.ErrRequest) {
		t.Errorf("%v, want the cause", err)
	}
}

func TestAServerThatIsSilentOrGoneIsARequestThatDidNotGetThrough(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.open()
	r.wire.timeout = 20 * time.Millisecond
	f.disturb(func(_ http.ResponseWriter, q *http.Request) bool { <-q.Context().Done(); return true })
	if err := f.listError(r); !errors.Is(err, tracker.ErrRequest) || !strings.Contains(err.Error(), "no answer within 20ms") {
		t.Error(err)
	}
	f.server.CloseClientConnections()
	f.server.Close()
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

func TestAnAnswerThatBreaksOffIsTriedAgainThenFails(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.open()
	f.disturb(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, `[{"number"`)
		return true
	})
	if err := f.listError(r); !errors.Is(err, tracker.ErrRequest) {
		t.Error(err)
	}
	if got := len(f.asked()); got != tries {
		t.Errorf("%d requests, want %d", got, tries)
	}
}

func TestPagesThatLeadNowhereFail(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		t.Errorf("another host was sent %q", q.Header)
	}))
	t.Cleanup(other.Close)
	for name, link := range map[string]func(*fake) string{
		"a loop":       func(f *fake) string { return f.server.URL + "/repos/acme/shop/issues?page=2" },
		"another host": func(*fake) string { return other.URL + "/repos/acme/shop/issues?page=2" },
		"a prefix":     func(f *fake) string { return f.server.URL + ".example.org/issues?page=2" },
		"a user":       func(f *fake) string { return f.server.URL + "@example.org/issues?page=2" },
		"no address":   func(*fake) string { return "::" },
	} {
		f := newFake(t)
		r := f.open()
		f.disturb(func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Link", fmt.Sprintf(`<%s>; rel="next"`, link(f)))
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `[]`)
			return true
		})
		if err := f.listError(r); !errors.Is(err, tracker.ErrPagination) {
			t.Errorf("%s: %v, want %v", name, err, tracker.ErrPagination)
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	t.Cleanup(other.Close)
	f := newFake(t)
	f.put(nil)
	r := f.open()
	for _, status := range []int{301, 302, 307, 308} {
		f.failWith(status, map[string]string{"Location": other.URL}, "")
		f.listError(r)
		if _, err := r.runTool(t.Context(), []byte(`{"method": "GET", "path": "/repos/acme/shop/issues"}`)); err == nil {
			t.Errorf("%d: the tool followed", status)
		}
	}
}

func TestAnAnswerWithoutEndFails(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.open()
	r.wire.most = 1 << 10
	f.disturb(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		for {
			if _, err := io.WriteString(w, "          "); err != nil {
				return true
			}
		}
	})
	if err := f.listError(r); !errors.Is(err, tracker.ErrResponse) {
		t.Error(err)
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
		f.disturb(func(w http.ResponseWriter, q *http.Request) bool {
			if q.Method == http.MethodPost {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(test.status)
				io.WriteString(w, test.body)
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
		f.disturb(func(w http.ResponseWriter, q *http.Request) bool {
			if test.status == http.StatusOK && q.Method == http.MethodGet {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(test.status)
			io.WriteString(w, test.body)
			return true
		})
		if err := f.listError(r); !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
