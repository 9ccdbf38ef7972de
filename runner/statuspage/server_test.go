package statuspage

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/progress"
)

func TestASnapshotThatIsNotThereYetIsUnavailableAndNotEmpty(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/api/v1/state", "/api/v1/A-1"} {
		if answer := ask(t, nil, http.MethodGet, path); answer.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
		}
		if answer := ask(t, &progress.Progress{}, http.MethodGet, path); answer.Code == http.StatusServiceUnavailable {
			t.Errorf("%s of an idle service: %d %s", path, answer.Code, answer.Body)
		}
	}
}

func TestABrowserThatUsesAnotherAddressIsToldTheRightOne(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(New(redact.New(), make(chan struct{}, 1)).Handler())
	t.Cleanup(server.Close)
	for _, path := range []string{"/", "/icon.svg", "/events", "/issues/GH-1", "/nothing", "/api/v1/state", "/api"} {
		for _, host := range []string{"0.0.0.0:4000", "build-host:4000", "192.0.2.1"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = host
			request.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
			answer, err := server.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if kind := answer.Header.Get("Content-Type"); err != nil || answer.StatusCode != http.StatusForbidden || !strings.HasPrefix(kind, "text/html") || !strings.Contains(string(text), "open "+server.URL+"/") {
				t.Errorf("%s of %q: %d %s %s %v", path, host, answer.StatusCode, kind, text, err)
			}
		}
	}
}

func TestTheServerAnswersOnLoopbackNamesAndFollowedLinks(t *testing.T) {
	t.Parallel()
	p := sample()
	for _, headers := range [][]string{
		{"Host", "localhost"}, {"Host", "LOCALHOST:1"}, {"Host", "127.0.0.1:80"}, {"Host", "[::1]:80"}, {"Host", "[::1]"},
		{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"}, {"Sec-Fetch-Site", "none"},
	} {
		if answer := ask(t, &p, http.MethodGet, "/api/v1/state", headers...); answer.Code != http.StatusOK {
			t.Errorf("%v: %d %s", headers, answer.Code, answer.Body)
		}
	}
}

func TestARefreshTakesNoBodyOrAnEmptyObject(t *testing.T) {
	t.Parallel()
	for body, status := range map[string]int{
		"": 202, "{}": 202, " {\n} ": 202,
		`{"issue":"GH-1"}`: 400, "null": 400, "[]": 400, "{": 400, "{}{}": 400, "poll": 400, "{" + strings.Repeat(" ", 1<<20) + "}": 400,
	} {
		refresh := make(chan struct{}, 1)
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/refresh", strings.NewReader(body))
		request.Host = "localhost:4000"
		answer := httptest.NewRecorder()
		New(redact.New(), refresh).Handler().ServeHTTP(answer, request)
		if answer.Code != status || (status == http.StatusAccepted) != (len(refresh) == 1) {
			t.Errorf("%.20q: %d %s, and %d polls", body, answer.Code, answer.Body, len(refresh))
		}
		if status == http.StatusBadRequest && !strings.Contains(answer.Body.String(), `"code":"bad_request"`) {
			t.Errorf("%.20q: %s", body, answer.Body)
		}
	}
}

func TestARefreshThatWaitsServesTheNextOneToo(t *testing.T) {
	t.Parallel()
	refresh := make(chan struct{}, 1)
	s := New(redact.New(), refresh)
	for _, coalesced := range []bool{false, true} {
		answer := askServer(t, s, http.MethodPost, "/api/v1/refresh")
		got := parse(t, answer.Body.String())
		at, err := time.Parse(time.RFC3339, got["requested_at"].(string))
		if err != nil || at.IsZero() {
			t.Errorf("requested_at is %v", got["requested_at"])
		}
		delete(got, "requested_at")
		want := map[string]any{"queued": true, "coalesced": coalesced, "operations": []any{"poll", "reconcile"}}
		if diff := cmp.Diff(want, got); diff != "" || answer.Code != http.StatusAccepted {
			t.Errorf("%d %s", answer.Code, diff)
		}
	}
	<-refresh
	if len(refresh) != 0 {
		t.Error("two polls were asked for")
	}
}
