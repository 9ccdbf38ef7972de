package github

import (
	"encoding/json"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// writes returns one well-formed call for each route that changes something.
func writes() []struct{ method, path, body string } {
	const sha = `"` + sha1 + `"`
	return []struct{ method, path, body string }{
		{"POST", "issues", `{"title": "A title", "body": "Text.", "labels": ["bug"], "assignees": ["mem"]}`},
		{"PATCH", "issues/1", `{"state": "closed", "state_reason": "completed"}`},
		{"POST", "issues/1/assignees", `{"assignees": ["mem"]}`},
		{"DELETE", "issues/1/assignees", `{"assignees": ["mem"]}`},
		{"POST", "issues/1/comments", `{"body": "Done."}`},
		{"PATCH", "issues/comments/1", `{"body": "Done."}`},
		{"POST", "issues/comments/1/reactions", `{"content": "+1"}`},
		{"POST", "issues/1/dependencies/blocked_by", `{"issue_id": 2}`},
		{"DELETE", "issues/1/dependencies/blocked_by/2", ``},
		{"POST", "issues/1/labels", `{"labels": ["status:done"]}`},
		{"PUT", "issues/1/labels", `{"labels": ["bug", "status:done"]}`},
		{"DELETE", "issues/1/labels/in progress", ``},
		{"POST", "issues/1/reactions", `{"content": "eyes"}`},
		{"POST", "issues/1/sub_issues", `{"sub_issue_id": 2}`},
		{"DELETE", "issues/1/sub_issue", `{"sub_issue_id": 2}`},
		{"POST", "labels", `{"name": "bug", "color": "ff0000", "description": "It is broken."}`},
		{"POST", "milestones", `{"title": "v1"}`},
		{"PATCH", "milestones/1", `{"state": "closed"}`},

		{"POST", "pulls", `{"title": "A title", "head": "symphony/GH-1", "base": "main", "body": "Fixes #1", "draft": true}`},
		{"PATCH", "pulls/1", `{"title": "A title", "body": "Text."}`},
		{"POST", "pulls/1/comments", `{"body": "Why?", "commit_id": ` + sha + `, "path": "cart.go", "line": 3, "side": "RIGHT"}`},
		{"POST", "pulls/1/comments/2/replies", `{"body": "Because."}`},
		{"PATCH", "pulls/comments/2", `{"body": "Because."}`},
		{"POST", "pulls/1/requested_reviewers", `{"reviewers": ["mem"]}`},
		{"DELETE", "pulls/1/requested_reviewers", `{"reviewers": ["mem"]}`},
		{"POST", "pulls/1/reviews", `{"event": "COMMENT", "body": "Look at this."}`},

		{"PUT", "contents/a b/cart.go", `{"message": "Keep the cart", "content": "eA==", "branch": "symphony/GH-1"}`},
		{"DELETE", "contents/a b/cart.go", `{"message": "Drop the cart", "sha": ` + sha + `, "branch": "symphony/GH-1"}`},
		{"POST", "git/blobs", `{"content": "eA==", "encoding": "base64"}`},
		{"POST", "git/trees", `{"base_tree": ` + sha + `, "tree": [{"path": "cart.go", "mode": "100644", "type": "blob", "sha": ` + sha + `}]}`},
		{"POST", "git/commits", `{"message": "Keep the cart", "tree": ` + sha + `, "parents": [` + sha + `]}`},
		{"POST", "git/refs", `{"ref": "refs/heads/symphony/GH-1", "sha": ` + sha + `}`},
		{"PATCH", "git/refs/heads/symphony/GH-1", `{"sha": ` + sha + `, "force": false}`},

		{"DELETE", "issues/comments/1", ``},
		{"DELETE", "issues/1/labels", ``},
		{"PUT", "issues/1/lock", `{"lock_reason": "spam"}`},
		{"DELETE", "issues/1/lock", ``},
		{"PATCH", "labels/bug", `{"new_name": "defect"}`},
		{"DELETE", "labels/bug", ``},
		{"DELETE", "milestones/1", ``},
		{"DELETE", "pulls/comments/1", ``},
		{"POST", "pulls/comments/1/reactions", `{"content": "+1"}`},
		{"PUT", "pulls/1/merge", `{"merge_method": "squash"}`},
		{"PUT", "pulls/1/reviews/1", `{"body": "Look at this."}`},
		{"DELETE", "pulls/1/reviews/1", ``},
		{"PUT", "pulls/1/reviews/1/dismissals", `{"message": "It is fixed."}`},
		{"POST", "pulls/1/reviews/1/events", `{"event": "APPROVE"}`},
		{"POST", "actions/jobs/1/rerun", ``},
		{"POST", "actions/runs/1/rerun", ``},
		{"POST", "actions/runs/1/rerun-failed-jobs", ``},
		{"POST", "actions/workflows/1/dispatches", `{"ref": "main"}`},
		{"POST", "check-runs", `{"name": "lint", "head_sha": ` + sha + `}`},
		{"PATCH", "check-runs/1", `{"name": "lint"}`},
		{"POST", "dispatches", `{"event_type": "x"}`},
		{"DELETE", "git/refs/heads/symphony/GH-1", ``},
		{"POST", "releases", `{"tag_name": "v1"}`},
		{"PATCH", "releases/1", `{"name": "v1"}`},
		{"DELETE", "releases/1", ``},
		{"POST", "statuses/" + sha1, `{"state": "success"}`},
	}
}

func TestEveryWriteIsSentAsGitHubDescribesIt(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.openWide(ScopeToken)
	var tried []string
	for _, write := range writes() {
		more := map[string]any{}
		if write.body != "" {
			more["body"] = json.RawMessage(write.body)
		}
		c, err := r.authorizeCall(ownIssueOfTests, json.RawMessage(arguments(t, write.method, "/repos/acme/shop/"+write.path, more)))
		if err != nil {
			t.Errorf("%s %s: %v", write.method, write.path, err)
			continue
		}
		for _, allowed := range toolRoutes() {
			if allowed.method == c.Method && c.target.matches(allowed.path) {
				tried = append(tried, allowed.method+" "+allowed.path)
			}
		}
		req, err := r.client.NewRequest(t.Context(), c.request())
		if err != nil {
			t.Fatal(err)
		}
		var sent []byte
		if req.Body != nil {
			sent, _ = io.ReadAll(req.Body) // from memory
		}
		if (len(sent) == 0) != (write.body == "") {
			t.Errorf("%s %s: sent the body %q", write.method, write.path, sent)
		}
		if os.Getenv(openapiEnv) == "" {
			continue
		}
		if _, err := described(req, sent); err != nil {
			t.Errorf("%s %s: %v", write.method, write.path, err)
		}
	}
	for _, allowed := range toolRoutes() {
		if allowed.method != "GET" && !slices.Contains(tried, allowed.method+" "+allowed.path) {
			t.Errorf("%s %s is allowed and was not tried", allowed.method, allowed.path)
		}
	}
	if os.Getenv(openapiEnv) == "" {
		t.Skipf("%s names no file: the tool's writes are not compared with GitHub's OpenAPI description", openapiEnv)
	}
}

// TestEveryRuleIsAboutSomethingThatGitHubHas finds misspelled rows and rows that
// allow more than was meant, and keys by which a call could name a branch that
// no guard looks at.
func TestEveryRuleIsAboutSomethingThatGitHubHas(t *testing.T) {
	t.Parallel()
	if os.Getenv(openapiEnv) == "" {
		t.Skipf("%s names no file: the tool's rules are not compared with GitHub's OpenAPI description", openapiEnv)
	}
	doc, err := description()
	if err != nil {
		t.Fatal(err)
	}
	variable, naming := regexp.MustCompile(`\{[^}]*\}`), regexp.MustCompile(`branch|ref|head|base|sha`)
	elsewhere := []string{"head_repo"} // names a repository
	for _, allowed := range toolRoutes() {
		var found []string
		for path, item := range doc.Paths.Map() {
			rest, ok := strings.CutPrefix(path, "/repos/{owner}/{repo}")
			operation := item.GetOperation(allowed.method)
			if !ok || operation == nil || strings.HasSuffix(path, "{base}...{head}") { // named twice
				continue
			}
			if strings.HasPrefix(rest, "/git/") {
				rest = strings.ReplaceAll(rest, "{ref}", "heads/7")
			}
			rest = strings.TrimPrefix(variable.ReplaceAllString(rest, "7"), "/")
			example := target{fakeRepo, nil}
			if rest != "" {
				example.segments = strings.Split(rest, "/")
			}
			if !example.matches(allowed.path) {
				continue
			}
			found = append(found, path)
			for _, key := range properties(operation) {
				if naming.MatchString(key) && !slices.Contains(stateBranchKeys, key) && !slices.Contains(elsewhere, key) {
					t.Errorf("%s %s: its key %q may name the state branch", allowed.method, path, key)
				}
			}
			if operation.Responses.Value("202") != nil {
				t.Errorf("%s %s may be answered by 202, which go-github makes an error", allowed.method, path)
			}
		}
		if len(found) != 1 {
			t.Errorf("%s %s allows %q, want one operation", allowed.method, allowed.path, found)
		}
	}
}
