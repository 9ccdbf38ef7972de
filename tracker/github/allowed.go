package github

// rule allows calls of github_api.
type rule struct {
	method string
	path   string // below the repository; see target.matches
	guards []guard
}

// rules returns all that github_api may do. Everything else is refused: settings,
// secrets, variables, keys, hooks, environments, collaborators, rulesets and
// protections, Actions beyond reading their results, dispatches, deployments,
// forks, transfers, merges, tags, releases, and the marks that gates rely on
// (statuses, checks, approvals). Adding a row widens what an agent that reads
// strangers' text can do.
func rules() []rule {
	return []rule{
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

		{"POST", "issues", []guard{noTrustLabel}},
		{"PATCH", "issues/#", []guard{noTrustLabel}},
		{"POST", "issues/#/assignees", nil},
		{"DELETE", "issues/#/assignees", nil},
		{"POST", "issues/#/comments", nil},
		{"PATCH", "issues/comments/#", nil},
		{"POST", "issues/comments/#/reactions", nil},
		{"POST", "issues/#/dependencies/blocked_by", nil},
		{"DELETE", "issues/#/dependencies/blocked_by/#", nil},
		{"POST", "issues/#/labels", []guard{noTrustLabel}},
		{"PUT", "issues/#/labels", []guard{noTrustLabel}},
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
		{"POST", "pulls/#/reviews", []guard{noApproval}},

		{"PUT", "contents/**", []guard{ownBranch, noWorkflowFile}},
		{"DELETE", "contents/**", []guard{ownBranch, noWorkflowFile}},
		{"POST", "git/blobs", nil},
		{"POST", "git/trees", []guard{noWorkflowTree}},
		{"POST", "git/commits", nil},
		{"POST", "git/refs", []guard{newBranch, harmlessCommit}},
		{"PATCH", "git/refs/heads/**", []guard{movedBranch, harmlessCommit}},
	}
}
