package github

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/symphony-runner/symphony/tracker/github/client"
)

// toolRoute is a method and a path that github_api may call.
type toolRoute struct {
	method string
	path   string      // a pattern below the repository; see target.matches
	checks []callCheck // all of them must accept a call; nil for none
}

// toolRoutes returns every route of github_api. Everything else is refused:
// settings, secrets, variables, keys, hooks, environments, collaborators, rulesets
// and protections, Actions beyond reading their results, dispatches, deployments,
// forks, transfers, merges, tags, releases, and what protections rely on (statuses,
// checks, approvals). Every new row gives more power to an agent that reads text by
// outsiders.
func toolRoutes() []toolRoute {
	return []toolRoute{
		{"GET", "", nil},
		{"GET", "assignees", nil},
		{"GET", "assignees/*", nil},
		{"GET", "issues", nil},
		{"GET", "issues/#", nil},
		{"GET", "issues/#/comments", nil},
		{"GET", "issues/#/dependencies/blocked_by", nil},
		{"GET", "issues/#/dependencies/blocking", nil},
		{"GET", "issues/#/events", nil},
		{"GET", "issues/#/labels", nil},
		{"GET", "issues/#/sub_issues", nil},
		{"GET", "issues/#/timeline", nil},
		{"GET", "issues/comments/#", nil},
		{"GET", "labels", nil},
		{"GET", "labels/*", nil},
		{"GET", "milestones", nil},
		{"GET", "milestones/#", nil},

		{"GET", "pulls", nil},
		{"GET", "pulls/#", nil},
		{"GET", "pulls/#/comments", nil},
		{"GET", "pulls/#/commits", nil},
		{"GET", "pulls/#/files", nil},
		{"GET", "pulls/#/requested_reviewers", nil},
		{"GET", "pulls/#/reviews", nil},
		{"GET", "pulls/#/reviews/#", nil},
		{"GET", "pulls/#/reviews/#/comments", nil},
		{"GET", "pulls/comments/#", nil},

		{"GET", "actions/jobs/#", nil},
		{"GET", "actions/runs", nil},
		{"GET", "actions/runs/#", nil},
		{"GET", "actions/runs/#/jobs", nil},
		{"GET", "branches", nil},
		{"GET", "branches/*", nil},
		{"GET", "check-runs/#", nil},
		{"GET", "check-runs/#/annotations", nil},
		{"GET", "check-suites/#", nil},
		{"GET", "check-suites/#/check-runs", nil},
		{"GET", "commits", nil},
		{"GET", "commits/*", nil},
		{"GET", "commits/*/check-runs", nil},
		{"GET", "commits/*/check-suites", nil},
		{"GET", "commits/*/pulls", nil},
		{"GET", "commits/*/status", nil},
		{"GET", "commits/*/statuses", nil},
		{"GET", "compare/*", nil},
		{"GET", "contents/**", nil},
		{"GET", "git/blobs/*", nil},
		{"GET", "git/commits/*", nil},
		{"GET", "git/matching-refs/heads/**", nil},
		{"GET", "git/ref/heads/**", nil},
		{"GET", "git/trees/*", nil},
		{"GET", "languages", nil},
		{"GET", "readme", nil},
		{"GET", "releases", nil},
		{"GET", "releases/#", nil},
		{"GET", "releases/latest", nil},
		{"GET", "tags", nil},

		{"POST", "issues", []callCheck{rejectTrustLabel}},
		{"PATCH", "issues/#", []callCheck{rejectTrustLabel}},
		{"POST", "issues/#/assignees", nil},
		{"DELETE", "issues/#/assignees", nil},
		{"POST", "issues/#/comments", nil},
		{"PATCH", "issues/comments/#", nil},
		{"POST", "issues/comments/#/reactions", nil},
		{"POST", "issues/#/dependencies/blocked_by", nil},
		{"DELETE", "issues/#/dependencies/blocked_by/#", nil},
		{"POST", "issues/#/labels", []callCheck{rejectTrustLabel}},
		{"PUT", "issues/#/labels", []callCheck{rejectTrustLabel}},
		{"DELETE", "issues/#/labels/*", nil},
		{"POST", "issues/#/reactions", nil},
		{"POST", "issues/#/sub_issues", nil},
		{"DELETE", "issues/#/sub_issue", nil},
		{"POST", "labels", nil},
		{"POST", "milestones", nil},
		{"PATCH", "milestones/#", nil},

		{"POST", "pulls", nil},
		{"PATCH", "pulls/#", nil},
		{"POST", "pulls/#/comments", nil},
		{"POST", "pulls/#/comments/#/replies", nil},
		{"PATCH", "pulls/comments/#", nil},
		{"POST", "pulls/#/requested_reviewers", nil},
		{"DELETE", "pulls/#/requested_reviewers", nil},
		{"POST", "pulls/#/reviews", []callCheck{rejectApproval}},

		{"PUT", "contents/**", []callCheck{requireBranch, rejectWorkflowFile}},
		{"DELETE", "contents/**", []callCheck{requireBranch, rejectWorkflowFile}},
		{"POST", "git/blobs", nil},
		{"POST", "git/trees", []callCheck{rejectWorkflowTree}},
		{"POST", "git/commits", nil},
		{"POST", "git/refs", []callCheck{requireNewBranch, requireCommit}},
		{"PATCH", "git/refs/heads/**", []callCheck{rejectForcePush, requireCommit}},
	}
}

// target is the parsed path of a call.
type target struct {
	repo     string   // owner/name
	segments []string // those below the repository
}

// parseTarget splits a path. It decodes, cleans and resolves nothing, and refuses
// every path that a server could decode, clean or resolve to another one.
func parseTarget(path, repo string) (target, error) {
	const form = "write /repos/{owner}/{repo}/…"
	switch {
	case len(path) > 1024:
		return target{}, errors.New("path is longer than 1024 bytes")
	case !utf8.ValidString(path) || strings.ContainsFunc(path, unprintable):
		return target{}, errors.New("path has control characters")
	case strings.ContainsAny(path, `\%?#`):
		return target{}, errors.New(`path has one of \ % ? #: write it as it reads, unencoded, and the query in params`)
	case !strings.HasPrefix(path, "/"):
		return target{}, errors.New("path is no path: " + form)
	}
	segments := strings.Split(path[1:], "/")
	for _, s := range segments {
		if strings.Trim(s, ".") == "" || strings.TrimSpace(s) != s {
			return target{}, fmt.Errorf("path has the part %q: %s", s, form)
		}
	}
	if len(segments) < 3 || segments[0] != "repos" {
		return target{}, errors.New("path is not one of a repository: " + form)
	}
	owner, name, _ := strings.Cut(repo, "/")
	if segments[1] == "{owner}" {
		segments[1] = owner
	}
	if segments[2] == "{repo}" {
		segments[2] = name
	}
	t := target{segments[1] + "/" + segments[2], segments[3:]}
	if !client.IsRepo(t.repo) {
		return target{}, fmt.Errorf("path names the repository %q: %s", t.repo, form)
	}
	return t, nil
}

// unprintable reports whether a character is invisible or a control character.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// resource returns the first segment below the repository, e.g. "issues", or "".
func (t target) resource() string {
	if len(t.segments) == 0 {
		return ""
	}
	return t.segments[0]
}

// requestPath returns the escaped path, relative to the root of the API.
func (t target) requestPath() string {
	parts := []string{"repos/" + t.repo}
	for _, s := range t.segments {
		parts = append(parts, url.PathEscape(s))
	}
	return strings.Join(parts, "/")
}

// matches reports whether the segments fit a pattern, in which # stands for a number,
// * for one segment and ** for one or more segments at the end.
func (t target) matches(pattern string) bool {
	want := strings.Split(pattern, "/")
	if pattern == "" {
		want = nil
	}
	if n := len(want); n > 0 && want[n-1] == "**" {
		if len(t.segments) < n {
			return false
		}
		return slices.EqualFunc(want[:n-1], t.segments[:n-1], matchesSegment)
	}
	return slices.EqualFunc(want, t.segments, matchesSegment)
}

// matchesSegment reports whether one segment fits its part of a pattern.
func matchesSegment(want, got string) bool {
	switch want {
	case "*":
		return true
	case "#":
		return got != "" && strings.Trim(got, "0123456789") == ""
	}
	return got == want
}
