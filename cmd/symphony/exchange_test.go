package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github"
	"github.com/symphony-runner/symphony/tracker/github/client"
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
		a := &app{process: process{stdout: &out, stderr: &out, environ: append(p.command(t.Context()).Environ(),
			"GITHUB_ACTIONS=true", "GITHUB_RUN_ID=77", "GITHUB_RUN_ATTEMPT=1", "GITHUB_SERVER_URL="+server.URL, "GITHUB_REPOSITORY=acme/shop", "GITHUB_TOKEN="+token)}}
		a.detectActions()
		a.redactor = a.environmentSecrets()
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

// A token of one server must not be sent to another one.
func TestTheExchangeIsOnTheServerThatTheTokenIsFor(t *testing.T) {
	t.Parallel()
	const ghes, api = "https://git.example.org", "https://git.example.org/api/v3"
	for name, c := range map[string]struct {
		env     []string
		apiURL  string // of the tracker
		want    string
		refused bool
	}{
		"nothing names one":        {want: "https://github.com/acme/shop"},
		"the API names it":         {env: []string{"GITHUB_API_URL=" + api}, want: ghes + "/acme/shop"},
		"the tracker names it":     {apiURL: api, want: ghes + "/acme/shop"},
		"the server is named":      {env: []string{"GITHUB_SERVER_URL=" + ghes + "/", "GITHUB_API_URL=" + api}, want: ghes + "/acme/shop"},
		"a cloud with data":        {env: []string{"GITHUB_API_URL=https://api.octo.ghe.com"}, want: "https://octo.ghe.com/acme/shop"},
		"two servers":              {env: []string{"GITHUB_SERVER_URL=https://github.com"}, apiURL: api, refused: true},
		"only the server is named": {env: []string{"GITHUB_SERVER_URL=" + ghes}, want: ghes + "/acme/shop"},
		"a tracker elsewhere":      {env: []string{"GITHUB_SERVER_URL=" + ghes}, apiURL: client.DefaultAPI, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &app{process: process{stdout: t.Output(), stderr: t.Output(), environ: append(c.env, "GITHUB_REPOSITORY=acme/shop", "GITHUB_TOKEN=ghs_0123456789abcdefTOKEN")}}
			a.detectActions()
			wf := workflow.Workflow{Path: t.TempDir() + "/WORKFLOW.md"}
			if c.apiURL != "" {
				wf.Settings.Tracker.Config = &github.Config{Repo: "acme/shop", APIURL: c.apiURL}
			}
			remote, err := a.opener().exchangeRemote(wf)
			if c.refused != errors.Is(err, errUsage) || remote.String() != c.want {
				t.Errorf("%q and %v, want %q", remote, err, c.want)
			}
		})
	}
}
