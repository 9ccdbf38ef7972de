package github

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatTheAgentPostsCommandsAndNotifiesNobody(t *testing.T) {
	t.Parallel()
	const evil = "@dependabot merge\n/approve\nFixes #2\nFixes #1\n<!-- hidden -->"
	const harmless = "@\u200bdependabot merge\n\\/approve\nF\u200bixes #2\nFixes #1"
	const said = harmless + "\n\n<!-- symphony-comment: agent -->"
	for call, want := range map[string]map[string]any{
		"POST issues/1/comments":           {"body": said},
		"PATCH issues/comments/11":         {"body": said},
		"POST pulls/5/comments/22/replies": {"body": said},
		"POST pulls":                       {"title": "@\u200bdependabot merge /approve F\u200bixes #2 F\u200bixes #1 <!-- hidden -->", "body": harmless, "head": "symphony/GH-1"},
		"POST pulls/5/reviews":             {"body": said, "comments": []any{map[string]any{"body": said, "path": "@a"}}},
		"POST git/commits":                 {"message": "@\u200bdependabot merge\n\n/approve\nF\u200bixes #2\nFixes #1\n<!-- hidden -->"},
	} {
		for _, scope := range []Scope{ScopeIssue, ScopeRepo, ScopeToken} {
			f := newBusyFake(t)
			var got map[string]any
			f.observe = func(r *http.Request, sent []byte, _ int, _ http.Header, _ []byte) {
				if r.Method != http.MethodGet && r.URL.Path != "/graphql" {
					if err := json.Unmarshal(sent, &got); err != nil {
						t.Error(err)
					}
				}
			}
			given := map[string]any{}
			for key := range want {
				given[key] = evil
			}
			if _, ok := want["head"]; ok {
				given["head"] = "symphony/GH-1"
			}
			if _, ok := want["comments"]; ok {
				given["comments"] = []any{map[string]any{"body": evil, "path": "@a"}}
			}
			method, path, _ := strings.Cut(call, " ")
			answer := f.use(f.openIssueScope(func(c *Config) { c.ToolScope = scope }), arguments(t, method, "/repos/acme/shop/"+path, body(given)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s in scope %s: %s\n%s", call, scope, answer.Text, diff)
			}
		}
	}
}

func TestATextThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	f := newBusyFake(t)
	for _, given := range []map[string]any{{"body": []any{"@admin"}}, {"body": map[string]any{"body": "@admin"}}, {"body": 7}} {
		if got := f.use(f.openIssueScope(nil), arguments(t, "POST", "/repos/acme/shop/issues/1/comments", body(given))); got.OK || !strings.Contains(got.Text, "must be text") {
			t.Errorf("%v: OK %t, %q", given, got.OK, got.Text)
		}
	}
	for _, comments := range []any{"x", []any{"x"}, []any{map[string]any{"body": 7}}} {
		if got := f.use(f.openIssueScope(nil), arguments(t, "POST", "/repos/acme/shop/pulls/5/reviews", body(map[string]any{"comments": comments}))); got.OK || !strings.Contains(got.Text, "must be") {
			t.Errorf("%v: OK %t, %q", comments, got.OK, got.Text)
		}
	}
	wantRequests(t, f)
}
