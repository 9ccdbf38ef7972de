package github

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestNoWriteReachesWhatIsNotTheSessions draws calls from what hostile agents try, and
// looks at what arrived at GitHub.
func TestNoWriteReachesWhatIsNotTheSessions(t *testing.T) {
	t.Parallel()
	f := newBusyFake(t)
	type write struct {
		method, path string
		body         map[string]any
	}
	var arrived []write
	f.observe = func(r *http.Request, sent []byte, _ int, _ http.Header, _ []byte) {
		if r.Method == http.MethodGet || r.URL.Path == "/graphql" {
			return
		}
		w := write{r.Method, strings.TrimPrefix(r.URL.Path, "/repos/acme/shop/"), nil}
		_ = json.Unmarshal(sent, &w.body)
		arrived = append(arrived, w)
	}
	r := f.openIssueScope(nil)
	numbers := []string{"1", "1", "1", "5", "5", "5", "2", "5", "6", "7", "8", "11", "12", "13", "14", "15", "21", "22", "23", "01", "1.", "symphony", "bug", "agent ok", "automerge"}
	branches := []string{"symphony/GH-1", "symphony/GH-1", "symphony/GH-2", "main", "symphony-state", "acme:symphony/GH-1", "evil:symphony/GH-1", "refs/heads/symphony/GH-1", "refs/heads/main"}
	ownTarget := regexp.MustCompile(`^(issues/1|issues/1/comments|issues/5/comments|issues/[15]/labels(/[^/]+)?|issues/comments/(11|14)|pulls|pulls/5|pulls/5/(comments|reviews)|` +
		`pulls/5/comments/2[12]/replies|pulls/comments/21|contents/.+|git/(blobs|trees|commits|refs)|git/refs/heads/symphony/GH-1)$`)
	sent := 0
	try := func(t rapid.TB, method, path string, body map[string]any) {
		arrived, f.requests = nil, nil
		arguments, _ := json.Marshal(map[string]any{"method": method, "path": "/repos/acme/shop/" + path, "body": body})
		f.use(r, string(arguments))
		for _, w := range arrived {
			sent++
			problem := ""
			switch {
			case !ownTarget.MatchString(w.path):
				problem = "its path is another's"
			case w.body["branch"] != nil && w.body["branch"] != "symphony/GH-1", w.body["ref"] != nil && w.body["ref"] != "refs/heads/symphony/GH-1":
				problem = "its branch is another's"
			case w.path == "pulls" && w.body["head"] != "symphony/GH-1" && w.body["head"] != "acme:symphony/GH-1", w.body["issue"] != nil, w.body["in_reply_to"] != nil:
				problem = "its source is another's"
			case w.method == "POST" && strings.Contains(fmt.Sprint(w.body["labels"]), "agent ok"), strings.Contains(fmt.Sprint(w.body["labels"]), "automerge"):
				problem = "its label is for people"
			}
			if problem != "" {
				t.Errorf("%s: %+v arrived", problem, w)
			}
		}
	}
	for _, form := range writes() { // as they stand, so that some are sent in any case
		given := map[string]any{}
		_ = json.Unmarshal([]byte(form.body), &given)
		try(t, form.method, form.path, given)
	}
	if sent == 0 {
		t.Fatal("nothing was sent, so nothing is proved")
	}
	rapid.Check(t, func(t *rapid.T) {
		pick := func(name string, from []string) string { return rapid.SampledFrom(from).Draw(t, name) }
		form := rapid.SampledFrom(writes()).Draw(t, "form")
		path := regexp.MustCompile(`\b[0-9]+\b`).ReplaceAllStringFunc(strings.ReplaceAll(form.path, "symphony/GH-1", "BRANCH"), func(string) string { return pick("number", numbers) })
		path = strings.ReplaceAll(path, "BRANCH", pick("branch", branches))
		given := map[string]any{}
		_ = json.Unmarshal([]byte(form.body), &given)
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			switch key := pick("key", []string{"body", "title", "state", "labels", "head", "base", "branch", "ref", "sha", "issue", "in_reply_to", "content", "message", "force", "event"}); key {
			case "labels":
				given[key] = []any{pick("label", []string{"symphony", "agent ok", "status:done", "bug", "automerge", "blocked"})}
			case "issue", "in_reply_to":
				given[key] = 2
			case "sha":
				given[key] = sha1
			case "force":
				given[key] = rapid.Bool().Draw(t, "force")
			case "head", "base", "branch", "ref":
				given[key] = pick("name", branches)
			default:
				given[key] = pick("text", []string{"x", "closed", "COMMENT", "APPROVE"})
			}
		}
		try(t, pick("method", []string{form.method, form.method, "POST", "PUT", "PATCH", "DELETE"}), path, given)
	})
}

// TestEachWriteOfGitHubIsSortedByScope compares what the tool accepts with a list that
// people read. What is not in the list is refused, also what GitHub adds later.
func TestEachWriteOfGitHubIsSortedByScope(t *testing.T) {
	t.Parallel()
	if os.Getenv(openapiEnv) == "" {
		t.Skipf("%s names no file: the writes of GitHub are not known", openapiEnv)
	}
	doc, err := description()
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("testdata/tool_writes.txt")
	if err != nil {
		t.Fatal(err)
	}
	f := newFake(t)
	repositories := map[Scope]*repository{}
	for _, scope := range []Scope{ScopeIssue, ScopeRepo, ScopeToken} {
		repositories[scope] = f.openIssueScope(func(c *Config) { c.ToolScope = scope })
	}
	var got []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			if method == http.MethodGet || method == http.MethodHead {
				continue
			}
			call := bestCall(t, method, path)
			for _, scope := range []Scope{ScopeIssue, ScopeRepo, ScopeToken} { // the narrowest
				if _, err := repositories[scope].authorizeCall(ownIssueOfTests, json.RawMessage(call)); err == nil {
					got = append(got, fmt.Sprintf("%-5s %s %s", scope, method, strings.TrimPrefix(path, "/repos/{owner}/{repo}/")))
					break
				}
			}
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(strings.TrimSpace(string(list)), strings.Join(got, "\n")); diff != "" {
		t.Errorf("(-listed +accepted):\n%s", diff)
	}
}

// bestCall returns the call of a path that has the best chance to be accepted: about the
// session's own issue and branch.
func bestCall(t *testing.T, method, path string) string {
	path = strings.NewReplacer("{ref}", "heads/symphony/GH-1", "{path}", "a b/cart.go", "/labels/{name}", "/labels/symphony").Replace(path)
	path = regexp.MustCompile(`/\{[a-z_]+\}`).ReplaceAllStringFunc(path, func(s string) string {
		if s == "/{owner}" || s == "/{repo}" {
			return s
		}
		return "/1"
	})
	more := map[string]any{}
	for _, write := range writes() {
		written := strings.NewReplacer("pulls/5", "pulls/1", "comments/11", "comments/1", "comments/2", "comments/1").Replace(write.path)
		if write.method == method && strings.TrimPrefix(path, "/repos/{owner}/{repo}/") == written && write.body != "" {
			more["body"] = json.RawMessage(write.body)
		}
	}
	return arguments(t, method, path, more)
}
