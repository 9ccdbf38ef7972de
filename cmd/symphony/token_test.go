package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A proxy sees whatever goes out in the clear. The token of the state branch is in package store.
func TestTheTokenIsNotSentInTheClearToLearnTheVisibility(t *testing.T) {
	t.Parallel()
	var sent atomic.Pointer[string]
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		all := r.Method + " " + r.URL.String() + " " + r.Header.Get("Authorization")
		sent.Store(&all)
	}))
	t.Cleanup(proxy.Close)
	p := newProject(t, scripted(t, t.TempDir()), map[string]string{"A-1": task("Move this issue to `Review`")})
	p.write("event.json", `{"schedule": "7 * * * *"}`)
	p.env = append(p.env, "HTTP_PROXY="+proxy.URL, "http_proxy="+proxy.URL, "NO_PROXY=", "no_proxy=",
		"GITHUB_API_URL=http://ghe.example.org/api/v3", "GITHUB_REPOSITORY=octo/state-keeper", "GITHUB_TOKEN=ghs_storetest",
		"GITHUB_ACTIONS=true", "GITHUB_EVENT_NAME=schedule", "GITHUB_EVENT_PATH=event.json", "GITHUB_JOB=tick", "RUNNER_OS=Linux",
		"INPUT_DRY_RUN=false", "GITHUB_OUTPUT=output", "GITHUB_STEP_SUMMARY=summary")
	p.write("output", "")
	if r := p.ok("--once", "--dry-run"); !strings.Contains(p.read("output"), "unknown") {
		t.Errorf("the output private is not unknown:\n%s\n%s", p.read("output"), r.stderr)
	}
	if got := sent.Load(); got != nil {
		t.Errorf("sent in the clear: %s", *got)
	}
}
