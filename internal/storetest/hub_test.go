package storetest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/storetest"
)

// said is what the hub answers: the status, and the part of the JSON at a key.
type said struct {
	Status int
	Value  any
}

// ask sends a request with a token, and a body when there is one.
func ask(t *testing.T, h *storetest.Hub, method, path, body, key string) said {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, h.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer whatever")
	client := h.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return said{resp.StatusCode, string(bytes.TrimSpace(data))}
	}
	object, _ := v.(map[string]any)
	return said{resp.StatusCode, object[key]}
}

const repo = "/repos/octo/state-keeper"

func TestTroubleIsAnsweredAsGitHubDoes(t *testing.T) {
	t.Parallel()
	const ref, patch = repo + "/git/ref/heads/main", repo + "/git/refs/heads/main"
	for name, test := range map[string]struct {
		trouble func(h *storetest.Hub)
		method  string
		path    string
		want    said
	}{
		"archived":       {func(h *storetest.Hub) { h.Archive(true) }, "POST", repo + "/git/trees", said{403, "Repository was archived so is read-only."}},
		"archived, read": {func(h *storetest.Hub) { h.Archive(true) }, "GET", ref, said{200, nil}},
		"protected":      {func(h *storetest.Hub) { h.Protect("main") }, "PATCH", patch, said{422, "Repository rule violations found\n\nChanges must be made through a pull request.\n\n"}},
		"denied":         {func(h *storetest.Hub) { h.Deny("contents: write") }, "PATCH", patch, said{403, "Resource not accessible by integration"}},
		"denied, read":   {func(h *storetest.Hub) { h.Deny("contents: write") }, "GET", ref, said{200, nil}},
		"hidden":         {func(h *storetest.Hub) { h.Hide(true) }, "GET", ref, said{404, "Not Found"}},
		"renamed":        {func(h *storetest.Hub) { h.Rename("octo/other") }, "GET", ref, said{301, "Moved Permanently"}},
		"limited":        {func(h *storetest.Hub) { h.LimitRate(time.Now().Add(time.Hour)) }, "GET", ref, said{403, "API rate limit exceeded for installation."}},
		"failed once":    {func(h *storetest.Hub) { h.Fail(storetest.Ref, storetest.Fault{Status: 502, Says: "oops"}) }, "GET", ref, said{502, "oops"}},
		"no API":         {func(h *storetest.Hub) { h.Fail(storetest.Ref, storetest.Fault{Body: "<html>"}) }, "GET", ref, said{200, "<html>"}},
		"unknown":        {func(*storetest.Hub) {}, "GET", repo + "/pulls", said{404, "Not Found"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := storetest.New(t, storetest.Config{})
			test.trouble(h)
			if diff := cmp.Diff(test.want, ask(t, h, test.method, test.path, `{"sha":"`+h.Head("main")+`","force":false}`, "message")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOnlyTheOneTokenIsValid(t *testing.T) {
	t.Parallel()
	h := storetest.New(t, storetest.Config{Repo: "a/b", Root: "/", Token: "secret"})
	if got := ask(t, h, "GET", "/repos/a/b", "", "message"); got.Status != 401 {
		t.Errorf("got %v", got)
	}
	if diff := cmp.Diff([]string{"GITHUB_API_URL=" + h.URL(), "GITHUB_REPOSITORY=a/b", "GITHUB_TOKEN=secret"}, h.Env()); diff != "" {
		t.Error(diff)
	}
}
