package store

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/storetest"
)

func TestTheTokenOfTheStateIsNotSentInTheClear(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"http://ghe.example.org/api/v3", "http://10.0.0.1", "http://localhost.example.org/"} {
		_, err := OpenBranch(BranchConfig{Repo: hubRepo, Branch: branchName, Token: hubToken, APIURL: api}, http.DefaultClient)
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "in the clear") || !strings.Contains(err.Error(), "GITHUB_API_URL") {
			t.Errorf("%s: %v", api, err)
		}
	}
}

// The library's error quotes an answer that is not HTTP.
func TestTheTokenOfTheStateIsCutOutOfWhatIsNoHTTP(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = conn.Write([]byte("Bearer " + hubToken + " is not welcome\r\n\r\n"))
			_ = conn.Close()
		}
	}))
	t.Cleanup(server.Close)
	b, err := OpenBranch(BranchConfig{Repo: hubRepo, Branch: branchName, Token: hubToken, APIURL: server.URL}, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Load(t.Context()); !errors.Is(err, ErrUnavailable) || strings.Contains(err.Error(), hubToken) {
		t.Errorf("got %v", err)
	}
}

func TestALoadLeavesGitHubAloneForAsLongAsItAsks(t *testing.T) {
	t.Parallel()
	h, b, _, _ := readyToSave(t)
	h.Fail(storetest.Ref, storetest.Fault{Status: 503, Header: http.Header{"Retry-After": {"60"}}})
	if _, _, err := b.Load(t.Context()); !errors.Is(err, ErrUnavailable) || h.Asked()[storetest.Ref] != 1 {
		t.Errorf("got %v, want an error after one request", err)
	}
	date := time.Now().Add(2 * time.Hour).UTC().Truncate(time.Second)
	h.Fail(storetest.Ref, storetest.Fault{Status: 429, Header: http.Header{"Retry-After": {date.Format(http.TimeFormat)}}})
	if _, _, err := b.Load(t.Context()); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "until "+date.Format("2006-01-02T15:")) {
		t.Errorf("got %v, want the time %v", err, date)
	}
}

// A message is cut where it is too long, also in the middle of the token.
func TestNoPartOfTheTokenIsInAMessageThatIsCut(t *testing.T) {
	t.Parallel()
	h, b, _, _ := readyToSave(t)
	for length := range 300 {
		h.Fail(storetest.Ref, storetest.Fault{Status: 400, Says: strings.Repeat("x", length) + hubToken})
		if _, _, err := b.Load(t.Context()); err == nil || strings.Contains(err.Error(), hubToken[:10]) {
			t.Fatalf("after %d characters: %v", length, err)
		}
	}
}

func TestAStoreIsNotOpenedWithInvalidSettings(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]BranchConfig{
		"no owner":          {Repo: "state-keeper", Token: hubToken, Branch: "state"},
		"a path":            {Repo: "octo/../other", Token: hubToken, Branch: "state"},
		"a parent":          {Repo: "octo/..", Token: hubToken, Branch: "state"},
		"a query":           {Repo: "octo/x?y", Token: hubToken, Branch: "state"},
		"no token":          {Repo: hubRepo, Branch: "state"},
		"no branch":         {Repo: hubRepo, Token: hubToken},
		"another scheme":    {Repo: hubRepo, Token: hubToken, Branch: "state", APIURL: "file:///etc"},
		"a password in it":  {Repo: hubRepo, Token: hubToken, Branch: "state", APIURL: "https://me:" + hubToken + "@api.example"},
		"no URL of any use": {Repo: hubRepo, Token: hubToken, Branch: "state", APIURL: "api.example"},
	} {
		_, err := OpenBranch(cfg, http.DefaultClient)
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
