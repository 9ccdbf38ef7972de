package trial

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/tracker/github/client"
)

// TestATrialTakesOnlyARefusalForOne sends what expects GitHub to refuse a request everything
// else that can come back.
func TestATrialTakesOnlyARefusalForOne(t *testing.T) {
	t.Parallel()
	var next atomic.Value // an http.HandlerFunc
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.Load().(http.HandlerFunc)(w, r) }))
	t.Cleanup(server.Close)
	c, err := client.New(client.Config{Repo: "acme/shop", Token: "ghs_0123456789abcdefTOKEN", APIURL: server.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Transport.Pause = time.Millisecond
	played := &Trial{GitHub: c, Name: "symphony-trial-7-1", issue: 1}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = w.Write([]byte(`{"message": "no"}`))
		}
	}
	for name, test := range map[string]struct {
		answer          http.HandlerFunc
		refused, absent bool // what the answer says of the workflow file, and of the branch
		want            string
	}{
		"taken":     {answer: status(http.StatusOK), want: "GitHub took a file|is still there"},
		"forbidden": {answer: status(http.StatusForbidden), refused: true, want: "^403 "},
		"a rate limit": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-RateLimit-Remaining", "0")
			w.Header().Set("X-RateLimit-Reset", fmt.Sprint(time.Now().Add(time.Hour).Unix()))
			w.WriteHeader(http.StatusForbidden)
		}, want: "rate limit"},
		"not found":         {answer: status(http.StatusNotFound), refused: true, absent: true},
		"not authenticated": {answer: status(http.StatusUnauthorized), want: "^401 "},
		"a fault of GitHub": {answer: status(http.StatusInternalServerError), want: "^500 "},
		"not available":     {answer: status(http.StatusServiceUnavailable), want: "^503 "},
		"a cut connection":  {answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, want: "can be reached"},
	} {
		next.Store(test.answer)
		for part, got := range map[string]struct {
			err error
			yes bool
		}{
			"the workflow file": {played.changeWorkflow(t.Context()), test.refused},
			"the branch":        {played.findNoBranch(t.Context()), test.absent},
			"its removal":       {played.removeBranch(t.Context(), "one"), test.absent || name == "taken"},
		} {
			if said := fmt.Sprint(got.err); (got.err == nil) != got.yes || !got.yes && !regexp.MustCompile(test.want).MatchString(said) {
				t.Errorf("%s, %s: %s, want %q", name, part, said, test.want)
			}
		}
	}
}
