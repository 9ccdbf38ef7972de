package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
)

func TestAnExchangeIsTriedAgainWhileTheServerFails(t *testing.T) {
	t.Parallel()
	const token = "ghs_0123456789abcdefTOKEN"
	g := githubtest.New(t, storetest.Config{Repo: "acme/shop", Token: token})
	to, err := url.Parse(g.ServerURL())
	if err != nil {
		t.Fatal(err)
	}
	lead := httputil.NewSingleHostReverseProxy(to)
	var failures, requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1); failures.Add(-1) >= 0 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		lead.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p := newProject(t, "codex app-server", nil)
	drop := func() (said string, err error) {
		var out strings.Builder
		a := &app{Process: wiring.Process{Stdout: &out, Stderr: &out, Environ: append(p.command(t.Context()).Environ(),
			"GITHUB_ACTIONS=true", "GITHUB_RUN_ID=77", "GITHUB_RUN_ATTEMPT=1", "GITHUB_SERVER_URL="+server.URL, "GITHUB_REPOSITORY=acme/shop", "GITHUB_TOKEN="+token)}}
		a.DetectActions()
		a.redactor = a.EnvironmentSecrets()
		cmd := (&exchangeCommand{app: a, pause: time.Nanosecond}).command()
		cmd.SetArgs([]string{"drop", p.dir + "/WORKFLOW.md"})
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		err = cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	failures.Store(handOverTries - 1)
	if said, err := drop(); err != nil || strings.Count(said, "symphony: tried again") != handOverTries-1 || !strings.Contains(said, "Deleted 0 references") {
		t.Errorf("%v\n%s", err, said)
	}
	requests.Store(0)
	failures.Store(1000)
	if said, err := drop(); err == nil || !strings.Contains(err.Error(), "remote_unavailable") || requests.Load() != handOverTries {
		t.Errorf("after %d requests: %v\n%s", requests.Load(), err, said)
	}
}
