package github

import "slices"

// toolRoute is a method and a path that github_api may call.
type toolRoute struct {
	method string
	path   string      // a pattern below the repository; see target.matches
	scope  Scope       // the narrowest scope that has the route
	checks []callCheck // all of them must accept a call; nil for none
	own    []callCheck // the same, in the scope issue alone
}

// toolRoutes returns every route of github_api. Everything else is refused in every
// scope: settings, secrets, variables, keys, hooks, environments, collaborators,
// rulesets and protections, the settings of Actions, forks and transfers. Every new row
// gives more power to an agent that reads text by outsiders.
func toolRoutes() []toolRoute {
	var routes []toolRoute
	for _, path := range readRoutes() {
		routes = append(routes, toolRoute{"GET", path, ScopeIssue, nil, nil})
	}
	return slices.Concat(routes, ownRoutes(), repoRoutes(), tokenRoutes())
}

// readRoutes returns the paths that the tool may read, in every scope.
func readRoutes() []string {
	return []string{
		"",
		"assignees", "assignees/*",
		"issues", "issues/#", "issues/#/comments", "issues/#/dependencies/blocked_by", "issues/#/dependencies/blocking",
		"issues/#/events", "issues/#/labels", "issues/#/sub_issues", "issues/#/timeline", "issues/comments/#",
		"labels", "labels/*",
		"milestones", "milestones/#",
		"pulls", "pulls/#", "pulls/#/comments", "pulls/#/commits", "pulls/#/files", "pulls/#/requested_reviewers", "pulls/#/reviews",
		"pulls/#/reviews/#", "pulls/#/reviews/#/comments", "pulls/comments/#",
		"actions/jobs/#", "actions/runs", "actions/runs/#", "actions/runs/#/jobs",
		"branches", "branches/*",
		"check-runs/#", "check-runs/#/annotations",
		"check-suites/#", "check-suites/#/check-runs",
		"commits", "commits/*", "commits/*/check-runs", "commits/*/check-suites", "commits/*/pulls", "commits/*/status",
		"commits/*/statuses",
		"compare/*",
		"contents/**",
		"git/blobs/*", "git/commits/*", "git/matching-refs/heads/**", "git/ref/heads/**", "git/trees/*",
		"languages",
		"readme",
		"releases", "releases/#", "releases/latest",
		"tags",
	}
}

// ownRoutes returns the writes of every scope. In the scope issue their checks bind them
// to the issue of the session, its pull request and its branch.
func ownRoutes() []toolRoute {
	return []toolRoute{
		{"PATCH", "issues/#", ScopeIssue, []callCheck{rejectTrustLabel}, []callCheck{ownIssue, onlyKeys("state", "state_reason")}},
		{"POST", "issues/#/comments", ScopeIssue, []callCheck{speaks, creates}, []callCheck{ownThread, onlyKeys("body")}},
		{"PATCH", "issues/comments/#", ScopeIssue, []callCheck{speaks, changesComment}, []callCheck{onlyKeys("body")}},
		{"POST", "issues/#/labels", ScopeIssue, []callCheck{rejectTrustLabel}, []callCheck{ownThread, onlyKeys("labels"), labelsToAdd}},
		{"PUT", "issues/#/labels", ScopeIssue, []callCheck{rejectTrustLabel}, []callCheck{ownThread, onlyKeys("labels"), labelsToHave}},
		{"DELETE", "issues/#/labels/*", ScopeIssue, nil, []callCheck{ownThread, onlyKeys(), labelToRemove}},

		{"POST", "pulls", ScopeIssue, []callCheck{creates}, []callCheck{unlessDelivered, ownHead, onlyKeys("title", "head", "base", "body", "draft", "maintainer_can_modify")}},
		{"PATCH", "pulls/#", ScopeIssue, nil, []callCheck{unlessDelivered, ownPull, onlyKeys("title", "body")}},
		{"POST", "pulls/#/comments", ScopeIssue, []callCheck{speaks, creates}, []callCheck{
			ownPull, onlyKeys("body", "commit_id", "path", "position", "line", "side", "start_line", "start_side", "subject_type"),
		}},
		{"POST", "pulls/#/comments/#/replies", ScopeIssue, []callCheck{speaks, creates}, []callCheck{ownPull, ownReply, onlyKeys("body")}},
		{"PATCH", "pulls/comments/#", ScopeIssue, []callCheck{speaks, changesComment}, []callCheck{onlyKeys("body")}},
		{"POST", "pulls/#/reviews", ScopeIssue, []callCheck{speaks, creates, marksVerdict, rejectApproval}, []callCheck{ownPull, onlyKeys("body", "event", "comments", "commit_id")}},

		{"PUT", "contents/**", ScopeIssue, []callCheck{requireBranch, rejectWorkflowFile}, []callCheck{unlessDelivered, ownBranch, onlyKeys("message", "content", "sha", "branch")}},
		{"DELETE", "contents/**", ScopeIssue, []callCheck{requireBranch, rejectWorkflowFile}, []callCheck{unlessDelivered, ownBranch, onlyKeys("message", "sha", "branch")}},
		{"POST", "git/blobs", ScopeIssue, nil, []callCheck{unlessDelivered, onlyKeys("content", "encoding")}},
		{"POST", "git/trees", ScopeIssue, []callCheck{rejectWorkflowTree}, []callCheck{unlessDelivered, onlyKeys("base_tree", "tree")}},
		{"POST", "git/commits", ScopeIssue, nil, []callCheck{unlessDelivered, onlyKeys("message", "tree", "parents")}},
		{"POST", "git/refs", ScopeIssue, []callCheck{requireNewBranch, requireCommit}, []callCheck{unlessDelivered, ownBranch, onlyKeys("ref", "sha")}},
		{"PATCH", "git/refs/heads/**", ScopeIssue, []callCheck{rejectForcePush, requireCommit}, []callCheck{unlessDelivered, ownBranch, onlyKeys("sha", "force")}},
	}
}

// repoRoutes returns the writes that the scope repo adds: those that reach other issues
// and pull requests, or people.
func repoRoutes() []toolRoute {
	return []toolRoute{
		{"POST", "issues", ScopeRepo, []callCheck{creates, rejectTrustLabel}, nil},
		{"POST", "issues/#/assignees", ScopeRepo, nil, nil},
		{"DELETE", "issues/#/assignees", ScopeRepo, nil, nil},
		{"POST", "issues/comments/#/reactions", ScopeRepo, nil, nil},
		{"POST", "issues/#/dependencies/blocked_by", ScopeRepo, nil, nil},
		{"DELETE", "issues/#/dependencies/blocked_by/#", ScopeRepo, nil, nil},
		{"POST", "issues/#/reactions", ScopeRepo, nil, nil},
		{"POST", "issues/#/sub_issues", ScopeRepo, nil, nil},
		{"DELETE", "issues/#/sub_issue", ScopeRepo, nil, nil},
		{"POST", "labels", ScopeRepo, nil, nil},
		{"POST", "milestones", ScopeRepo, nil, nil},
		{"PATCH", "milestones/#", ScopeRepo, nil, nil},
		{"POST", "pulls/#/requested_reviewers", ScopeRepo, nil, nil},
		{"DELETE", "pulls/#/requested_reviewers", ScopeRepo, nil, nil},
	}
}

// tokenRoutes returns the writes that the scope token adds: those that people or
// protections rely on, and those that start workflows.
func tokenRoutes() []toolRoute {
	return []toolRoute{
		{"DELETE", "issues/comments/#", ScopeToken, nil, nil},
		{"DELETE", "issues/#/labels", ScopeToken, nil, nil},
		{"PUT", "issues/#/lock", ScopeToken, nil, nil},
		{"DELETE", "issues/#/lock", ScopeToken, nil, nil},
		{"PATCH", "labels/*", ScopeToken, []callCheck{rejectTrustLabel}, nil},
		{"DELETE", "labels/*", ScopeToken, nil, nil},
		{"DELETE", "milestones/#", ScopeToken, nil, nil},

		{"DELETE", "pulls/comments/#", ScopeToken, nil, nil},
		{"POST", "pulls/comments/#/reactions", ScopeToken, nil, nil},
		{"PUT", "pulls/#/merge", ScopeToken, nil, nil},
		{"PUT", "pulls/#/reviews/#", ScopeToken, []callCheck{speaks, changesComment}, nil},
		{"DELETE", "pulls/#/reviews/#", ScopeToken, nil, nil},
		{"PUT", "pulls/#/reviews/#/dismissals", ScopeToken, nil, nil},
		{"POST", "pulls/#/reviews/#/events", ScopeToken, []callCheck{speaks, creates, marksVerdict}, nil},

		{"POST", "actions/jobs/#/rerun", ScopeToken, nil, nil},
		{"POST", "actions/runs/#/rerun", ScopeToken, nil, nil},
		{"POST", "actions/runs/#/rerun-failed-jobs", ScopeToken, nil, nil},
		{"POST", "actions/workflows/*/dispatches", ScopeToken, []callCheck{rejectOrder}, nil},
		{"POST", "check-runs", ScopeToken, nil, nil},
		{"PATCH", "check-runs/#", ScopeToken, nil, nil},
		{"POST", "dispatches", ScopeToken, nil, nil},
		{"DELETE", "git/refs/heads/**", ScopeToken, []callCheck{requireRef}, nil},
		{"POST", "releases", ScopeToken, []callCheck{creates}, nil},
		{"PATCH", "releases/#", ScopeToken, nil, nil},
		{"DELETE", "releases/#", ScopeToken, nil, nil},
		{"POST", "statuses/*", ScopeToken, nil, nil},
	}
}
