package github

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker"
)

func (f *fake) use(r *repository, arguments string) tracker.ToolResult {
	return r.tool().Call(f.t.Context(), ownIssueOfTests, json.RawMessage(arguments))
}

// ownIssueOfTests is the issue of the session in the tests of the tool.
var ownIssueOfTests = tracker.Issue{ID: "1", Identifier: "GH-1"}

// openWide returns an adapter whose tool may write in the whole repository.
func (f *fake) openWide(scope Scope) *repository {
	f.t.Helper()
	return f.openWith(map[string]any{"trust_label": "agent ok", "tool_scope": string(scope)}, []string{"open"}, []string{"closed"})
}

// arguments returns a call as JSON.
func arguments(t *testing.T, method, path string, more map[string]any) string {
	t.Helper()
	v := map[string]any{"method": method, "path": path}
	for key, value := range more {
		v[key] = value
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const (
	sha1       = "0123456789012345678901234567890123456789"
	shaOfPwned = "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"
)

func body(v map[string]any) map[string]any   { return map[string]any{"body": v} }
func params(v map[string]any) map[string]any { return map[string]any{"params": v} }

func TestTheToolRefusesWithoutARequest(t *testing.T) {
	t.Parallel()
	const base = "/repos/acme/shop"
	for name, test := range map[string]struct {
		method, path string
		more         map[string]any
		want         string
	}{
		"parent folder":         {"GET", base + "/issues/../../../user", nil, `the part ".."`},
		"this folder":           {"GET", base + "/./issues", nil, `the part "."`},
		"three dots":            {"GET", base + "/.../issues", nil, `the part "..."`},
		"encoded dots":          {"GET", base + "/issues/%2e%2e/x", nil, "unencoded"},
		"encoded slash":         {"GET", base + "/issues%2f1", nil, "unencoded"},
		"double encoding":       {"GET", base + "/%252e%252e/x", nil, "unencoded"},
		"backslash":             {"GET", base + `\..\x`, nil, "unencoded"},
		"query":                 {"GET", base + "/issues?state=all", nil, "unencoded"},
		"fragment":              {"GET", base + "/issues#x", nil, "unencoded"},
		"empty part":            {"GET", base + "//issues", nil, `the part ""`},
		"slash at the end":      {"GET", base + "/issues/", nil, `the part ""`},
		"line break":            {"GET", base + "/issues\n/1", nil, "control characters"},
		"zero byte":             {"GET", base + "/issues\x00", nil, "control characters"},
		"invisible character":   {"GET", base + "/issues\u200b", nil, "control characters"},
		"outer space":           {"GET", base + "/issues /1", nil, "the part"},
		"long":                  {"GET", base + "/contents/" + strings.Repeat("x", 1100), nil, "longer"},
		"absolute address":      {"GET", "https://example.org" + base + "/issues", nil, "path is not a path"},
		"address of no scheme":  {"GET", "//example.org" + base + "/issues", nil, "the part"},
		"upload host":           {"POST", "https://uploads.github.com" + base + "/releases/1/assets", nil, "path is not a path"},
		"relative":              {"GET", "repos/acme/shop/issues", nil, "path is not a path"},
		"another owner":         {"GET", "/repos/evil/shop/issues", nil, "the repository is acme/shop"},
		"another repository":    {"GET", "/repos/acme/shop2/issues", nil, "the repository is acme/shop"},
		"a placeholder's trick": {"GET", "/repos/{owner}/{owner}/issues", nil, "names the repository"},
		"by its number":         {"GET", "/repositories/1/issues", nil, "not one of a repository"},
		"graphql":               {"POST", "/graphql", body(map[string]any{"query": "{viewer{login}}"}), "not one of a repository"},
		"the user":              {"GET", "/user/keys", nil, "not one of a repository"},
		"an organization":       {"GET", "/orgs/acme/actions/secrets", nil, "not one of a repository"},
		"search":                {"GET", "/search/issues", nil, "not one of a repository"},
		"an unknown method":     {"TRACE", base + "/issues", nil, "not allowed"},
		"a lower-case method":   {"delete", base, nil, "not allowed"},
		"params of a write":     {"PUT", base + "/contents/x", map[string]any{"params": map[string]any{"branch": "main"}}, "params are for GET"},
		"a body of a GET":       {"GET", base + "/issues", body(map[string]any{"x": 1}), "a GET has no body"},
		"a nested parameter":    {"GET", base + "/issues", params(map[string]any{"labels": []any{"a"}}), "params.labels must be text"},

		"default branch by omission": {"PUT", base + "/contents/x", body(map[string]any{"content": "eA=="}), "body.branch is missing"},
		"a branch by another name":   {"PUT", base + "/contents/x", body(map[string]any{"branch": "refs/heads/main"}), "plain name"},
		"a revision":                 {"PUT", base + "/contents/x", body(map[string]any{"branch": "HEAD"}), "plain name"},
		"a branch with a space":      {"DELETE", base + "/contents/x", body(map[string]any{"branch": "main "}), "plain name"},
		"a workflow":                 {"PUT", base + "/contents/.github/workflows/x.yml", body(map[string]any{"branch": "b"}), "people change them"},
		"a workflow in capitals":     {"DELETE", base + "/contents/.GitHub/Workflows/x.yml", body(map[string]any{"branch": "b"}), "people change them"},
		"a workflow by a tree":       {"POST", base + "/git/trees", body(map[string]any{"tree": []any{map[string]any{"path": ".github/workflows/x.yml"}}}), "people change them"},
		"the folder by a tree":       {"POST", base + "/git/trees", body(map[string]any{"tree": []any{map[string]any{"path": ".github", "mode": "040000"}}}), "people change them"},
		"a tree without paths":       {"POST", base + "/git/trees", body(map[string]any{"tree": []any{7}}), "people change them"},
		"a tag":                      {"POST", base + "/git/refs", body(map[string]any{"ref": "refs/tags/v1", "sha": sha1}), "refs/heads/"},
		"a pull request's ref":       {"POST", base + "/git/refs", body(map[string]any{"ref": "refs/pull/1/head", "sha": sha1}), "refs/heads/"},
		"a short commit":             {"POST", base + "/git/refs", body(map[string]any{"ref": "refs/heads/b", "sha": "main"}), "full name of a commit"},
		"a rewritten branch":         {"PATCH", base + "/git/refs/heads/b", body(map[string]any{"sha": sha1, "force": true}), "not rewritten"},
		"a rewritten branch by text": {"PATCH", base + "/git/refs/heads/b", body(map[string]any{"sha": sha1, "force": "true"}), "not rewritten"},

		"state branch's ref":      {"GET", base + "/git/ref/heads/symphony-state", nil, "belongs to Symphony"},
		"state branch moved":      {"PATCH", base + "/git/refs/heads/Symphony-State", body(map[string]any{"sha": sha1}), "belongs to Symphony"},
		"state branch made":       {"POST", base + "/git/refs", body(map[string]any{"ref": "refs/heads/symphony-state", "sha": sha1}), "belongs to Symphony"},
		"state branch's file":     {"PUT", base + "/contents/x", body(map[string]any{"branch": "symphony-state"}), "belongs to Symphony"},
		"state branch read":       {"GET", base + "/contents/state.json", params(map[string]any{"ref": "heads/symphony-state"}), "belongs to Symphony"},
		"state branch compared":   {"GET", base + "/compare/main...symphony-state", nil, "belongs to Symphony"},
		"state branch's commits":  {"GET", base + "/commits", params(map[string]any{"sha": "symphony-state~1"}), "belongs to Symphony"},
		"state branch as base":    {"POST", base + "/pulls", body(map[string]any{"base": "symphony-state", "head": "b"}), "belongs to Symphony"},
		"base becomes state":      {"PATCH", base + "/pulls/1", body(map[string]any{"base": "symphony-state"}), "belongs to Symphony"},
		"approval":                {"POST", base + "/pulls/1/reviews", body(map[string]any{"event": "APPROVE"}), "approving is for people"},
		"approval in disguise":    {"POST", base + "/pulls/1/reviews", body(map[string]any{"event": "approve"}), "approving is for people"},
		"trust label added":       {"POST", base + "/issues/1/labels", body(map[string]any{"labels": []any{"x", "AGENT ok"}}), "for people to put on"},
		"trust label by object":   {"PUT", base + "/issues/1/labels", body(map[string]any{"labels": []any{map[string]any{"name": "agent ok "}}}), "for people to put on"},
		"trust label by edit":     {"PATCH", base + "/issues/1", body(map[string]any{"labels": "agent ok"}), "for people to put on"},
		"trust label from birth":  {"POST", base + "/issues", body(map[string]any{"title": "x", "labels": []any{"agent ok"}}), "for people to put on"},
		"a label takes its name":  {"PATCH", base + "/labels/bug", body(map[string]any{"new_name": "agent ok"}), "not allowed"},
		"a number that is no one": {"GET", base + "/issues/latest", nil, "not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			r := f.openWide(ScopeRepo)
			got := f.use(r, arguments(t, test.method, test.path, test.more))
			if got.OK || !strings.Contains(got.Text, test.want) {
				t.Errorf("OK %t, %q: want %q", got.OK, got.Text, test.want)
			}
			wantRequests(t, f)
		})
	}
}

// Settings are refused whatever the scope, because no row allows them; what protections
// and people rely on needs the widest one.
func TestTheToolRefusesSettingsAndWhatGatesRelyOn(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	methods := []string{"POST", "PUT", "PATCH", "DELETE"}
	always := []string{
		"actions/secrets", "actions/secrets/X", "actions/secrets/public-key", "actions/variables", "actions/variables/X", "actions/permissions",
		"actions/permissions/workflow", "actions/runners", "actions/runners/registration-token", "actions/oidc/customization/sub", "actions/caches",
		"actions/runs/1/logs", "actions/artifacts", "codespaces/secrets", "dependabot/secrets", "environments",
		"environments/prod/secrets", "environments/prod/variables/X", "keys", "keys/1", "hooks", "hooks/1/deliveries", "collaborators",
		"collaborators/evil", "collaborators/evil/permission", "invitations", "branches/main/protection", "branches/main/protection/required_reviews",
		"branches/main/rename", "rulesets", "rules/branches/main", "tags/protection", "pages", "deployments", "deployments/1/statuses",
		"autolinks", "properties/values", "private-vulnerability-reporting", "security-advisories", "code-scanning/alerts", "secret-scanning/alerts",
		"vulnerability-alerts", "automated-security-fixes", "attestations", "zipball", "tarball/main", "traffic/views", "teams", "import",
		"merges", "merge-upstream", "forks", "transfer", "generate", "interaction-limits", "lfs", "immutable-releases",
	}
	writes := []string{
		"", "topics", "labels/bug", "releases", "releases/1", "git/tags", "git/refs/tags/v1", "git/refs/heads", "statuses/" + sha1, "check-runs",
		"check-suites", "commits/" + sha1 + "/comments", "actions/runs/1/rerun", "actions/runs/1/approve", "actions/runs/1/cancel",
		"actions/runs/1/pending_deployments", "pulls/1/reviews/1/events", "pulls/1/reviews/1/dismissals", "pulls/1/update-branch",
		"pulls/1/codespaces", "issues/1/lock", "branches", "contents", "pulls/1/merge", "actions/workflows/1/dispatches", "dispatches",
	}
	for _, scope := range []Scope{ScopeIssue, ScopeRepo, ScopeToken} {
		r := f.openWide(scope)
		refused := func(method, path string) {
			t.Helper()
			if path != "" {
				path = "/" + path
			}
			if got := f.use(r, arguments(t, method, "/repos/acme/shop"+path, nil)); got.OK || !strings.Contains(got.Text, "not allowed") {
				t.Errorf("%s scope: %s %q: OK %t, %q", scope, method, path, got.OK, got.Text)
			}
		}
		for _, path := range always {
			for _, method := range append(slices.Clone(methods), "GET") {
				refused(method, path)
			}
		}
		for _, path := range writes {
			if scope == ScopeToken {
				break
			}
			for _, method := range methods {
				refused(method, path)
			}
		}
	}
	wantRequests(t, f)
}

func TestTheToolReachesNoOtherRepository(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for _, scope := range []Scope{ScopeIssue, ScopeRepo, ScopeToken} {
		for _, repo := range []string{"other/place", "ACME/shop", "acme/Shop", "acme/shop.git"} {
			got := f.use(f.openWide(scope), arguments(t, "GET", "/repos/"+repo+"/issues", nil))
			if got.OK || !strings.Contains(got.Text, "the repository is acme/shop") {
				t.Errorf("%s in scope %s: OK %t, %q", repo, scope, got.OK, got.Text)
			}
		}
	}
	wantRequests(t, f)
}

func TestTheToolDoesWhatItIsAsked(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.perPage = 1
	f.put(func(i *fakeIssue) { i.labels = []string{"in progress"} })
	f.put(nil)
	r := f.openWide(ScopeRepo)
	for call, want := range map[string]string{
		`{"method": "POST", "path": "/repos/{owner}/{repo}/issues/1/comments", "body": {"body": "Done."}}`:                                 "201 Created\n{\"id\":1}\n",
		`{"method": "DELETE", "path": "/repos/acme/shop/issues/1/labels/in progress"}`:                                                     "200 OK\n[]\n",
		`{"method": "PUT", "path": "/repos/acme/shop/contents/a b/ü.txt", "body": {"branch": "fix/1", "content": "eA==", "message": "x"}}`: "200 OK\n{\"branch\":\"fix/1\",\"path\":\"a b/ü.txt\"}\n",
		`{"method": "POST", "path": "/repos/acme/shop/git/refs", "body": {"ref": "refs/heads/fix/1", "sha": "` + sha1 + `"}}`:              "201 Created\n{\"ref\":\"refs/heads/fix/1\",\"sha\":\"" + sha1 + "\"}\n",
		`{"method": "PATCH", "path": "/repos/acme/shop/git/refs/heads/fix/1", "body": {"force": false, "sha": "` + sha1 + `"}}`:            "200 OK\n{\"force\":false,",
		`{"method": "POST", "path": "/repos/acme/shop/pulls/1/reviews", "body": {"event": "COMMENT"}}`:                                     "200 OK\n{\"event\":\"COMMENT\"}",
		`{"method": "POST", "path": "/repos/acme/shop/git/trees", "body": {"tree": [{"path": ".github/CODEOWNERS"}]}}`:                     "200 OK\n{\"tree\":",
		`{"method": "GET", "path": "/repos/{owner}/{repo}/issues", "params": {"state": "all", "per_page": 1, "page": 2}}`:                  "200 OK\n[{",
		`{"method": "GET", "path": "/repos/{owner}/{repo}/issues", "params": {"per_page": 1}}`:                                             "200 OK\nThere are more pages: raise params.page.\n[{",
	} {
		if got := f.use(r, call); !got.OK || got.Wrote == strings.Contains(call, `"GET"`) || !strings.HasPrefix(got.Text, want) {
			t.Errorf("%s: OK %t, wrote %t, %q, want %q", call, got.OK, got.Wrote, got.Text, want)
		}
	}
	if diff := cmp.Diff([]string{"Done.\n\n<!-- symphony-comment: agent -->"}, f.comments); diff != "" {
		t.Error(diff)
	}
}

func TestTheDefaultBranchIsNotTheToolsToChange(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.openWide(ScopeRepo)
	for _, call := range []string{
		arguments(t, "PUT", "/repos/acme/shop/contents/x", body(map[string]any{"branch": "Main"})),
		arguments(t, "DELETE", "/repos/acme/shop/contents/x", body(map[string]any{"branch": "main"})),
		arguments(t, "PATCH", "/repos/acme/shop/git/refs/heads/main", body(map[string]any{"sha": sha1})),
		arguments(t, "POST", "/repos/acme/shop/git/refs", body(map[string]any{"ref": "refs/heads/main", "sha": sha1})),
	} {
		if got := f.use(r, call); got.OK || !strings.Contains(got.Text, "the default branch") {
			t.Errorf("%s: OK %t, %q", call, got.OK, got.Text)
		}
		wantRequests(t, f, "GET /repos/acme/shop 200")
	}
}

func TestACommitThatChangesWorkflowsBecomesNoBranch(t *testing.T) {
	t.Parallel()
	many := make([]string, 300)
	for files, want := range map[*[]string]string{{".github/workflows/x.yml"}: "people change them", &many: "too many"} {
		f := newFake(t)
		f.changed[shaOfPwned] = *files
		got := f.use(f.openWide(ScopeRepo), arguments(t, "POST", "/repos/acme/shop/git/refs", body(map[string]any{"ref": "refs/heads/b", "sha": shaOfPwned})))
		if got.OK || !strings.Contains(got.Text, want) || len(f.refs) != 0 {
			t.Errorf("OK %t, %q, want %q", got.OK, got.Text, want)
		}
	}
}

func TestWhatCannotBeCheckedIsRefused(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.failWith(http.StatusNotFound, nil, `{"message": "Not Found"}`)
	got := f.use(f.openWide(ScopeRepo), arguments(t, "PUT", "/repos/acme/shop/contents/x", body(map[string]any{"branch": "b"})))
	if got.OK || !strings.Contains(got.Text, "cannot be checked") {
		t.Errorf("OK %t, %q", got.OK, got.Text)
	}
	wantRequests(t, f, "GET /repos/acme/shop 0")
}

func TestAComparisonThatTellsNothingIsNoLeave(t *testing.T) {
	t.Parallel()
	for _, comparison := range []string{``, `{}`, `null`, `{"files": null}`} {
		f := newFake(t)
		f.setFault(func(w http.ResponseWriter, r *http.Request) bool {
			compares := strings.Contains(r.URL.Path, "/compare/")
			if compares {
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, comparison)
			}
			return compares
		})
		got := f.use(f.openWide(ScopeRepo), arguments(t, "POST", "/repos/acme/shop/git/refs", body(map[string]any{"ref": "refs/heads/b", "sha": sha1})))
		if got.OK || !strings.Contains(got.Text, "check the call") || len(f.refs) != 0 {
			t.Errorf("%s: OK %t, %q", comparison, got.OK, got.Text)
		}
	}
}

func TestTheToolRepeatsOnlyWhatChangesNothing(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]int{"GET": transport.Tries, "POST": 1} {
		f := newFake(t)
		r := f.open()
		f.failWith(http.StatusBadGateway, nil, "")
		if got := f.use(r, arguments(t, method, "/repos/acme/shop/issues/1/comments", nil)); got.OK {
			t.Errorf("%s: %q", method, got.Text)
		}
		if got := len(f.asked()); got != want {
			t.Errorf("%s: %d requests, want %d", method, got, want)
		}
	}
}

func TestTheModelGetsFailuresInFullAndNoSecret(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("ü", maxResult) + `"`
	for name, test := range map[string]struct {
		status      int
		media, body string
		want        string
	}{
		"a refusal":      {422, "application/json", `{"message": "Validation Failed"}`, "GitHub refused: 422 Unprocessable Entity\n{\"message\": \"Validation Failed\"}"},
		"a rate limit":   {429, "application/json", `{}`, "try again in 1m0s"},
		"no JSON":        {404, "text/html", `<html>`, "404 Not Found\nThe answer is not JSON"},
		"the token":      {404, "application/json", `"` + fakeToken + `"`, "[secret]"},
		"a long answer":  {404, "application/json", long, "\n[cut: "},
		"a moved answer": {307, "text/html", ``, "Redirects are not followed"},
	} {
		f := newFake(t)
		r := f.open()
		f.failWith(test.status, map[string]string{"Content-Type": test.media}, test.body)
		got := f.use(r, `{"method": "GET", "path": "/repos/acme/shop/issues/1"}`)
		if got.OK || !strings.Contains(got.Text, test.want) || strings.Contains(got.Text, fakeToken) || len(got.Text) > maxResult+300 {
			t.Errorf("%s: OK %t, %q, want %q", name, got.OK, clip(got.Text), test.want)
		}
	}
}

func FuzzAPathThatPassesIsSentAsItReads(f *testing.F) {
	f.Add("/repos/acme/shop/issues/1")
	f.Add("/repos/{owner}/{repo}/contents/a/../b")
	f.Add("/repos/acme/shop/%2e%2e/x;y/\\z")
	f.Fuzz(func(t *testing.T, path string) {
		target, err := parseTarget(path, fakeRepo)
		if err != nil {
			return
		}
		req, err := http.NewRequest("GET", "http://127.0.0.1/"+target.requestPath(), nil)
		if err != nil {
			t.Fatalf("%q: %v", path, err)
		}
		want := "/repos/" + strings.Join(append([]string{target.repo}, target.segments...), "/")
		if req.URL.Path != want || req.URL.RawQuery != "" || req.URL.Fragment != "" || req.URL.Host != "127.0.0.1" {
			t.Errorf("%q is sent as %q", path, req.URL)
		}
		if clean := req.URL.JoinPath().EscapedPath(); clean != req.URL.EscapedPath() {
			t.Errorf("%q may be read as %q", path, clean)
		}
	})
}
