package github

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker"
)

// use calls github_api.
func (f *fake) use(r *repository, arguments string) tracker.ToolResult {
	return r.readTool().Call(f.t.Context(), ownIssueOfTests, json.RawMessage(arguments))
}

// ownIssueOfTests is the issue of the session in the tests of the tool.
var ownIssueOfTests = tracker.Issue{ID: "1", Identifier: "GH-1"}

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
		"upload host":           {"GET", "https://uploads.github.com" + base + "/releases/1/assets", nil, "path is not a path"},
		"relative":              {"GET", "repos/acme/shop/issues", nil, "path is not a path"},
		"another owner":         {"GET", "/repos/evil/shop/issues", nil, "the repository is acme/shop"},
		"another repository":    {"GET", "/repos/acme/shop2/issues", nil, "the repository is acme/shop"},
		"a placeholder's trick": {"GET", "/repos/{owner}/{owner}/issues", nil, "names the repository"},
		"by its number":         {"GET", "/repositories/1/issues", nil, "not one of a repository"},
		"graphql":               {"GET", "/graphql", nil, "not one of a repository"},
		"the user":              {"GET", "/user/keys", nil, "not one of a repository"},
		"an organization":       {"GET", "/orgs/acme/actions/secrets", nil, "not one of a repository"},
		"search":                {"GET", "/search/issues", nil, "not one of a repository"},
		"a write":               {"POST", base + "/issues/1/comments", nil, "this tool only reads: change your issue with issue_update"},
		"a lower-case method":   {"delete", base, nil, "only reads"},
		"a body":                {"GET", base + "/issues", map[string]any{"body": map[string]any{"x": 1}}, "only reads"},
		"a nested parameter":    {"GET", base + "/issues", params(map[string]any{"labels": []any{"a"}}), "params.labels must be text"},

		"state branch's ref":      {"GET", base + "/git/ref/heads/symphony-state", nil, "belongs to Symphony"},
		"state branch read":       {"GET", base + "/contents/state.json", params(map[string]any{"ref": "heads/symphony-state"}), "belongs to Symphony"},
		"state branch compared":   {"GET", base + "/compare/main...symphony-state", nil, "belongs to Symphony"},
		"state branch's commits":  {"GET", base + "/commits", params(map[string]any{"sha": "symphony-state~1"}), "belongs to Symphony"},
		"a number that is no one": {"GET", base + "/issues/latest", nil, "not for the agent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			got := f.use(f.open(), arguments(t, test.method, test.path, test.more))
			if got.OK || !strings.Contains(got.Text, test.want) {
				t.Errorf("OK %t, %q: want %q", got.OK, got.Text, test.want)
			}
			wantRequests(t, f)
		})
	}
}

func TestTheToolReadsNoSettings(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.open()
	settings := []string{
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
	for _, path := range settings {
		if got := f.use(r, arguments(t, "GET", "/repos/acme/shop/"+path, nil)); got.OK || !strings.Contains(got.Text, "not for the agent") {
			t.Errorf("%q: OK %t, %q", path, got.OK, got.Text)
		}
	}
	wantRequests(t, f)
}

// TestTheToolWritesNothing tries every method on every path that may be read.
func TestTheToolWritesNothing(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.open()
	for _, pattern := range readRoutes() {
		path := "/repos/acme/shop/" + strings.NewReplacer("#", "1", "**", "x", "*", "x").Replace(pattern)
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "post", "OPTIONS"} {
			if got := f.use(r, arguments(t, method, strings.TrimSuffix(path, "/"), nil)); got.OK || got.Wrote || !strings.Contains(got.Text, "only reads") {
				t.Errorf("%s %s: OK %t, %q", method, path, got.OK, got.Text)
			}
		}
	}
	wantRequests(t, f)
}

func TestTheToolReachesNoOtherRepository(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for _, repo := range []string{"other/place", "ACME/shop", "acme/Shop", "acme/shop.git"} {
		got := f.use(f.open(), arguments(t, "GET", "/repos/"+repo+"/issues", nil))
		if got.OK || !strings.Contains(got.Text, "the repository is acme/shop") {
			t.Errorf("%s: OK %t, %q", repo, got.OK, got.Text)
		}
	}
	wantRequests(t, f)
}

func TestTheToolReadsWhatItIsAsked(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.SetQuirks(githubtest.Quirks{PerPage: 1})
	f.put(nil)
	f.put(nil)
	r := f.open()
	for call, want := range map[string]string{
		`{"path": "/repos/{owner}/{repo}/issues", "params": {"state": "all", "per_page": 1, "page": 2}}`: "200 OK\n[{",
		`{"method": "GET", "path": "/repos/acme/shop/issues", "params": {"per_page": 1}}`:                "200 OK\nThere are more pages: raise params.page.\n[{",
	} {
		if got := f.use(r, call); !got.OK || got.Wrote || !strings.HasPrefix(got.Text, want) {
			t.Errorf("%s: OK %t, wrote %t, %q, want %q", call, got.OK, got.Wrote, got.Text, want)
		}
	}
}

func TestAReadIsRepeated(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.open()
	f.failWith(http.StatusBadGateway, nil, "")
	if got := f.use(r, arguments(t, "GET", "/repos/acme/shop/issues/1", nil)); got.OK {
		t.Error(got.Text)
	}
	if got := len(f.asked()); got != transport.Tries {
		t.Errorf("%d requests, want %d", got, transport.Tries)
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
