package github

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

func TestALimitThatIsUsedUpIsGitHubsToEnforce(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(nil)
	r := f.open()
	f.setFault(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("X-RateLimit-Limit", "1000")
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10))
		return false
	})
	for range 2 {
		f.list(r, "open")
	}
	wantRequests(t, f, listPath+" 200", historyRequest, memRequest, listPath+" 304")
}

func TestEveryRequestHasWhatGitHubAsksFor(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(nil)
	f.setFault(func(_ http.ResponseWriter, q *http.Request) bool {
		if q.Header.Get("User-Agent") != "symphony" || q.Header.Get("Authorization") != "Bearer "+fakeToken {
			t.Errorf("%s: %q", q.URL, q.Header)
		}
		if q.Method == http.MethodGet && q.Header.Get("X-GitHub-Api-Version") != "2022-11-28" {
			t.Errorf("%s: no version of the API: %q", q.URL, q.Header)
		}
		return false
	})
	f.list(f.open(), "open")
	wantRequests(t, f, listPath+" 200", historyRequest, memRequest)
}

func TestABoardThatTheTokenMayNotSeeIsNotReportedAsMissing(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"data": null}`, `{"data":null}`, `{}`, `{"errors":[],"data":null}`} {
		f := newFake(t)
		r := onBoard(f, map[string]any{"number": 3}, "Todo")
		f.setFault(func(w http.ResponseWriter, q *http.Request) bool {
			if q.Method == http.MethodPost {
				reply(w, http.StatusOK, nil, body)
			}
			return q.Method == http.MethodPost
		})
		if err := r.checkSettings(t.Context()); !errors.Is(err, tracker.ErrResponse) || !strings.Contains(err.Error(), "the answer has no data") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// The name of the error's type, in a text, is not an error.
func TestATextAboutErrorsIsNoError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`"errors"`, `{"data":null,"errors":[{"type":"RATE_LIMITED"}]}`, "errors"} {
		f := newFake(t)
		f.put(func(i *fakeIssue) { i.Title, i.Body = text, text })
		if got := f.list(f.open(), "open"); len(got) != 1 || !got[0].Dispatchable {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
