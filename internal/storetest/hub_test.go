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

func TestACommitMadeOverTheAPIIsGits(t *testing.T) {
	t.Parallel()
	h := storetest.New(t, storetest.Config{})
	post := func(method, path, body string) string {
		t.Helper()
		s := ask(t, h, method, repo+path, body, "sha")
		if s.Status >= 300 {
			t.Fatalf("%s %s: %v", method, path, s)
		}
		sha, _ := s.Value.(string)
		return sha
	}
	head := h.Commit("state", map[string]string{"state.json": "1", "a/b/c": "2"})
	tree := post("POST", "/git/trees", `{"base_tree":"`+head+`","tree":[{"path":"a/b/d","mode":"100644","type":"blob","content":"3"}]}`)
	next := post("POST", "/git/commits", `{"message":"m","tree":"`+tree+`","parents":["`+head+`"]}`)
	post("PATCH", "/git/refs/heads/state", `{"sha":"`+next+`","force":false}`)

	if diff := cmp.Diff([]string{"a/b/c", "a/b/d", "state.json"}, h.Files("state")); diff != "" {
		t.Error(diff)
	}
	if content, ok := h.File("state", "a/b/d"); content != "3" || !ok {
		t.Errorf("got %q, %v", content, ok)
	}
	if got := h.Git("rev-list", "--count", "state"); got != "2" || h.Head("state") != next {
		t.Errorf("%s commits, at %s", got, h.Head("state"))
	}
	want := map[storetest.Op]int{storetest.Tree: 1, storetest.Commit: 1, storetest.Move: 1}
	if diff := cmp.Diff(want, h.Asked()); diff != "" {
		t.Error(diff)
	}
	if back := ask(t, h, "PATCH", repo+"/git/refs/heads/state", `{"sha":"`+head+`","force":false}`, "message"); back.Status != 422 {
		t.Errorf("the branch went back: %v", back)
	}
}

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

func TestRunsAreWhatTheTestSays(t *testing.T) {
	t.Parallel()
	h := storetest.New(t, storetest.Config{})
	const runs = repo + "/actions/runs"
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	h.SetRun(storetest.Run{ID: 7, Status: "completed", Conclusion: "cancelled", Jobs: []storetest.Job{{Name: "tick", Started: at}}})
	h.SetRun(storetest.Run{ID: 7, Attempt: 2, Status: "queued"})
	h.SetRun(storetest.Run{ID: 7, Attempt: 2, Status: "in_progress"})
	for path, want := range map[string]said{
		"/7":            {200, "in_progress"},
		"/7/attempts/1": {200, "completed"},
		"/7/attempts/2": {200, "in_progress"},
		"/7/attempts/3": {404, nil},
		"/8":            {404, nil},
	} {
		if diff := cmp.Diff(want, ask(t, h, "GET", runs+path, "", "status")); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	jobs, _ := ask(t, h, "GET", runs+"/7/attempts/1/jobs", "", "jobs").Value.([]any)
	if len(jobs) != 1 || jobs[0].(map[string]any)["started_at"] != "2026-03-01T12:00:00Z" || jobs[0].(map[string]any)["completed_at"] != nil {
		t.Errorf("got %v", jobs)
	}
	h.DeleteRun(7)
	if got := ask(t, h, "GET", runs, "", "total_count"); got.Value != 0.0 {
		t.Errorf("got %v", got)
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

func TestATestCanAddWhatIsMissing(t *testing.T) {
	t.Parallel()
	h := storetest.New(t, storetest.Config{})
	const pattern = "GET /api/v3/repos/octo/state-keeper/issues"
	h.Handle(pattern, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"n":1}`) }))
	h.Fail(pattern, storetest.Fault{Status: 500})
	for _, want := range []said{{500, nil}, {200, 1.0}} {
		if diff := cmp.Diff(want, ask(t, h, "GET", repo+"/issues?page=2", "", "n")); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff([]string{"GET /api/v3" + repo + "/issues?page=2", "GET /api/v3" + repo + "/issues?page=2"}, h.Log()); diff != "" {
		t.Error(diff)
	}
}
