package linear

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

// hang leaves a request unanswered until its client gives up.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// reset breaks the connection without an answer.
func reset(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestAWaitThatIsTooLongIsReturned(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, f *fake, c client) {
		f.broken = answer(503, ``, "Retry-After", "60")
		_, err := c.IssuesByState(t.Context(), []string{"Todo"})
		trackertest.CheckError(t, err, tracker.ErrStatus, "linear_api_status", "503")
		if wait, asked := tracker.RetryAfter(err); !asked || wait != time.Minute {
			t.Errorf("asked to wait %v: %v", wait, asked)
		}
	})
}

func TestARateLimitIsReturnedWithTheTimeToWait(t *testing.T) {
	t.Parallel()
	const limited = `{"errors":[{"message":"Rate limit exceeded","extensions":{"code":"RATELIMITED"}}]}`
	// Virtual time begins here.
	at := func(after time.Duration) string {
		return strconv.FormatInt(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(after).UnixMilli(), 10)
	}
	for name, test := range map[string]struct {
		fault http.HandlerFunc
		want  time.Duration
	}{
		"400":               {answer(400, limited), 0},
		"400 with seconds":  {answer(400, limited, "Retry-After", "90"), 90 * time.Second},
		"200 with seconds":  {answer(200, limited, "Retry-After", "90"), 90 * time.Second},
		"429":               {answer(429, `slow down`, "Content-Type", "text/plain"), 0},
		"429 with a date":   {answer(429, ``, "Retry-After", "Sat, 01 Jan 2000 00:02:00 GMT"), 2 * time.Minute},
		"429 with nonsense": {answer(429, ``, "Retry-After", "soon", "X-RateLimit-Requests-Reset", "later"), 0},
		"429 for ages":      {answer(429, ``, "Retry-After", "99999999999"), 24 * time.Hour},
		"the exhausted limit": {answer(400, limited,
			"X-RateLimit-Requests-Reset", at(time.Minute), "X-RateLimit-Requests-Remaining", "7",
			"X-RateLimit-Complexity-Reset", at(time.Hour), "X-RateLimit-Complexity-Remaining", "0"), time.Hour},
		"no limit is exhausted": {answer(400, limited,
			"X-RateLimit-Requests-Reset", at(time.Minute), "X-RateLimit-Requests-Remaining", "7",
			"X-RateLimit-Complexity-Reset", at(time.Hour), "X-RateLimit-Complexity-Remaining", "9"), time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, f *fake, c client) {
				f.broken = test.fault
				start := time.Now()
				_, err := c.IssuesByState(t.Context(), []string{"Todo"})
				var limit *tracker.RateLimitError
				if !errors.As(err, &limit) || !errors.Is(err, tracker.ErrRateLimited) {
					t.Fatalf("got %v, want a rate limit", err)
				}
				if diff := cmp.Diff(&tracker.RateLimitError{Op: "list Linear issues", RetryAfter: test.want}, limit); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if f.counted() != 1 || time.Since(start) != 0 {
					t.Errorf("%d requests in %v, want one at once", f.counted(), time.Since(start))
				}
			})
		})
	}
}

// TestWhatIsNoResultIsAnError checks that an outage never looks like an empty board.
func TestWhatIsNoResultIsAnError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault    http.HandlerFunc
		category error
		words    []string
	}{
		"400 with errors":    {answer(400, `{"errors":[{"message":"bad\n::error::query"}]}`), tracker.ErrStatus, []string{"linear_api_status", "400", `"bad\n::error::query"`}},
		"401":                {answer(401, `{}`), tracker.ErrStatus, []string{"linear_api_status", "tracker.api_key"}},
		"bad key":            {answer(400, `{"errors":[{"extensions":{"code":"AUTHENTICATION_ERROR"}}]}`), tracker.ErrStatus, []string{"tracker.api_key"}},
		"a long message":     {answer(400, `{"errors":[{"message":"`+strings.Repeat("ü", 1000)+`"}]}`), tracker.ErrStatus, []string{`says "` + strings.Repeat("ü", 119) + `…"`}},
		"404":                {answer(404, `not here`), tracker.ErrStatus, []string{"404", "tracker.endpoint"}},
		"redirect":           {answer(302, ``, "Location", "https://example.com/"), tracker.ErrStatus, []string{"302", "redirect is not followed"}},
		"errors alone":       {answer(200, `{"errors":[{"message":"no"}]}`), tracker.ErrResponse, []string{"linear_graphql_errors", `"no"`}},
		"errors and data":    {answer(200, `{"data":{"issues":{"nodes":[],"pageInfo":{"hasNextPage":false}}},"errors":[{"message":"partly"}]}`), tracker.ErrResponse, []string{"linear_graphql_errors", `"partly"`}},
		"no data, no errors": {answer(200, `{"data":null,"errors":[]}`), tracker.ErrResponse, []string{"linear_unknown_payload", "no data"}},
		"nothing":            {answer(200, ``), tracker.ErrResponse, []string{"linear_unknown_payload"}},
		"empty object":       {answer(200, `{}`), tracker.ErrResponse, []string{"linear_unknown_payload"}},
		"empty data":         {answer(200, `{"data":{}}`), tracker.ErrResponse, []string{"linear_unknown_payload", "no nodes"}},
		"null issues":        {answer(200, `{"data":{"issues":null}}`), tracker.ErrResponse, []string{"linear_unknown_payload"}},
		"no pageInfo":        {answer(200, `{"data":{"issues":{"nodes":[]}}}`), tracker.ErrResponse, []string{"linear_unknown_payload"}},
		"no hasNextPage":     {answer(200, `{"data":{"issues":{"nodes":[],"pageInfo":{}}}}`), tracker.ErrResponse, []string{"linear_unknown_payload"}},
		"null nodes":         {answer(200, `{"data":{"issues":{"nodes":null,"pageInfo":{"hasNextPage":false}}}}`), tracker.ErrResponse, []string{"linear_unknown_payload"}},
		"unknown field":      {answer(200, `{"data":{"things":[]}}`), tracker.ErrResponse, []string{"linear_unknown_payload", "tracker.endpoint"}},
		"another shape":      {answer(200, `{"data":{"issues":{"nodes":[{"priority":"high"}]}}}`), tracker.ErrResponse, []string{"linear_unknown_payload"}},
		"an array":           {answer(200, `[]`), tracker.ErrResponse, []string{"linear_unknown_payload"}},
		"cut JSON":           {answer(200, `{"data":{"issues":{"nodes":[`), tracker.ErrResponse, []string{"linear_unknown_payload", "complete JSON"}},
		"a page of HTML":     {answer(200, `<html>`, "Content-Type", "text/html"), tracker.ErrResponse, []string{"linear_unknown_payload", "text/html"}},
		"JSON as text":       {answer(200, `{"data":{}}`, "Content-Type", "text/plain"), tracker.ErrResponse, []string{"linear_unknown_payload", "text/plain"}},
		"no HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = conn.Write([]byte("lost " + apiKey + "\r\n\r\n"))
				_ = conn.Close()
			}
		}, tracker.ErrRequest, []string{"linear_api_request", "malformed HTTP", "[secret]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, f *fake, c client) {
				f.broken = test.fault
				issues, err := c.IssuesByState(t.Context(), []string{"Todo"})
				trackertest.CheckError(t, err, test.category, test.words...)
				if issues != nil {
					t.Errorf("%d issues beside the error", len(issues))
				}
				_, err = c.IssuesByID(t.Context(), []tracker.ID{"any"})
				trackertest.CheckError(t, err, test.category, test.words...)
			})
		})
	}
}

func TestTheKeyIsNowhereEvenIfTheServerEchoesIt(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]http.HandlerFunc{
		"status":       answer(403, `{"errors":[{"message":"key `+apiKey+` is wrong"}]}`),
		"errors":       answer(200, `{"errors":[{"message":"`+strings.Repeat("x", 110)+apiKey+`"}]}`),
		"field":        answer(200, `{"data":{"`+apiKey+`":1}}`),
		"content type": answer(200, `{}`, "Content-Type", "text/"+apiKey),
		"retried":      answer(500, `{"errors":[{"message":"`+apiKey+`"}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, f *fake, c client) {
				f.broken = fault
				_, err := c.IssuesByState(t.Context(), []string{"Todo"})
				result := c.Tools[0].Call(t.Context(), tracker.Issue{}, []byte(`"{ viewer { id } }"`))
				if err == nil {
					t.Error("no error")
				} else if all := err.Error() + c.log.String() + result.Text; strings.Contains(all, apiKey[:20]) {
					t.Errorf("the key is in: %s", all)
				}
			})
		})
	}
}

func TestAnIssueThatHoldsTheKeyIsRedacted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.add(tracker.Issue{Title: "my key is " + apiKey, State: "Todo"})
	issues, err := f.serve(t).IssuesByState(t.Context(), []string{"Todo"})
	if err != nil || len(issues) != 1 || issues[0].Title != "my key is [secret]" {
		t.Errorf("got %+v, %v", issues, err)
	}
}

func TestAnErrorWithoutWordsIsASentenceAllTheSame(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"no body":           {answer(418, ``), "linear_api_status: HTTP 418 I'm a teapot: see that"},
		"no message":        {answer(400, `{"errors":[{}]}`), "linear_api_status: HTTP 400 Bad Request: try again later"},
		"an empty message":  {answer(200, `{"errors":[{"message":" "}]}`), "linear_graphql_errors: try again later"},
		"the second has it": {answer(200, `{"errors":[{"message":""},{"message":"too deep"}]}`), `linear_graphql_errors, Linear says "too deep": try again later, unless`},
	} {
		f := newFake(t)
		f.broken = test.answer
		if _, err := f.serve(t).IssuesByState(t.Context(), []string{"Todo"}); !strings.Contains(fmt.Sprint(err), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestAProjectWithoutStatesIsReportedInOneSentence(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.states = nil
	c := f.serve(t)
	if err := c.Check(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "it has none at all") {
		t.Errorf("%v", err)
	}
}
