package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A proxy sees whatever goes out in the clear.
func TestTheTokenGoesOutInTheClearForNoPurpose(t *testing.T) {
	t.Parallel()
	var sent atomic.Pointer[string]
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		all := r.Method + " " + r.URL.String() + " " + r.Header.Get("Authorization")
		sent.Store(&all)
	}))
	t.Cleanup(proxy.Close)
	for name, test := range map[string]struct {
		args []string
		code int
	}{
		"visibility":   {[]string{"--once", "--dry-run"}, 0},
		"state branch": {[]string{"--once", "--state", "branch:symphony-state"}, 2},
	} {
		p := newProject(t, scripted(t, t.TempDir()), map[string]string{"A-1": task("Move this issue to `Review`")})
		p.write("event.json", `{"schedule": "7 * * * *"}`)
		p.env = append(p.env, "HTTP_PROXY="+proxy.URL, "http_proxy="+proxy.URL, "NO_PROXY=", "no_proxy=",
			"GITHUB_API_URL=http://ghe.example.org/api/v3", "GITHUB_REPOSITORY=octo/state-keeper", "GITHUB_TOKEN=ghs_storetest",
			"GITHUB_ACTIONS=true", "GITHUB_EVENT_NAME=schedule", "GITHUB_EVENT_PATH=event.json", "GITHUB_JOB=tick", "RUNNER_OS=Linux",
			"INPUT_DRY_RUN=false", "GITHUB_OUTPUT=output", "GITHUB_STEP_SUMMARY=summary")
		p.write("output", "")
		r := p.run(test.args...)
		if r.code != test.code || test.code != 0 && !strings.Contains(r.stderr+r.stdout, "would send the token in the clear") {
			t.Errorf("%s: exit status %d\n%s%s", name, r.code, r.stdout, r.stderr)
		}
		if name == "visibility" && !strings.Contains(p.read("output"), "unknown") {
			t.Errorf("the output private is not unknown:\n%s", p.read("output"))
		}
		if got := sent.Swap(nil); got != nil {
			t.Errorf("%s: sent in the clear: %s", name, *got)
		}
	}
}
