// Package github is the tracker adapter for GitHub (SPEC §11): the issues of one
// repository, and the tool with which the agent works on it.
//
// It reads and never writes; what the agent asks of github_api is the agent's
// doing (SPEC §11.5). It decides which issues are visible, what their state is,
// and whether their text may reach an agent at all. Only cmd calls [ConfigFrom]
// and [Open].
//
// # Profile
//
//   - kind: github
//   - keys: repo (owner/name), api_key, api_url, project (owner, number, field),
//     state_label_prefix, priority_labels, trust (members or anyone),
//     trust_label, tool_scope (repo or token).
//   - defaults: repo is $GITHUB_REPOSITORY, api_key $GITHUB_TOKEN, api_url
//     $GITHUB_API_URL or https://api.github.com; project.owner is the owner of
//     the repository and project.field Status; p0, p1, p2 and p3 are the
//     priorities 1 to 4; trust is members, without a trust_label; tool_scope is repo.
//   - secrets: api_key, sent as a Bearer token to api_url alone (https, or http
//     on loopback). No redirect and no link to another host is followed. Children
//     do not inherit GITHUB_TOKEN, and the token is cut out of all that the
//     server sends. Permissions: issues: read and metadata: read; with a project,
//     projects: read, which the token of an Actions job cannot have.
//   - scope: the one repository. Pull requests are never issues. What is deleted
//     or transferred (404, 410, a redirect) is not visible any more, provided that
//     the repository itself still is.
//   - paging: pages of 100 by the Link header, in the order of creation; a page
//     that comes again, or is elsewhere, is an error. An issue that is closed
//     while a long list is read may hide another one until the next poll.
//   - identity: id is the number, identifier GH-<number>; native_ref has number,
//     node_id and repository.
//   - states: a closed issue, and no other, is "closed". An open one has the
//     status of its item on the board, or else what follows state_label_prefix in
//     a label, whichever is configured, in this order; without either it is "open".
//     With several state labels it is not dispatchable, and its state is the first
//     of the active ones, a terminal one only when there is no other. States that
//     the board does not have, and a prefix that no label has, are refused by the
//     check of the settings and by the first read; states without a label by the
//     check alone.
//   - labels: lower case, trimmed, each once. Lists of candidates ask GitHub for
//     the issues with all of tracker.required_labels; a label with a comma, which
//     a request cannot name, is compared here alone.
//   - priority: the highest that priority_labels gives.
//   - dispatchable: an open issue in an active state that no open issue blocks
//     (issue dependencies) and that is trusted, as below. Otherwise the reason is
//     given. Servers without dependencies are warned of once. Blockers are read
//     for such candidates alone; a blocker's state on a board is not.
//   - tools: github_api {method, path, params?, body?} makes one REST request in
//     the repository. method is GET, POST, PUT, PATCH or DELETE; path is
//     /repos/{owner}/{repo}/… as it reads, where the two placeholders may stay;
//     params, of text, numbers and booleans, is the query of a GET, body the JSON
//     object of any other method. No other key is taken. The result is the status,
//     a hint where there are more pages, and GitHub's JSON, cut at 48 KiB; OK is
//     false when GitHub refuses, with its answer, and when a rule of allowed.go
//     does, with the reason and without a request.
//   - errors: invalid_tracker_config (also by the first read of a board or of labels
//     that do not fit), missing_tracker_secret, tracker_request, tracker_status,
//     tracker_response, tracker_pagination, tracker_rate_limited.
//   - limits: 30 s for a try; two retries of a passing failure, after Retry-After
//     or about 0.5 s and 1 s; a wait of more than 5 s, and any rate limit, is left
//     to the caller; answers of up to 64 MiB; 48 KiB of a tool's result.
//
// # What a poll costs
//
// One list of the open issues with all required labels serves every state:
// ceil(such issues and pull requests / 100) requests, whatever else is open. Without
// required labels it is a list of all that is open. GitHub finds issues by one
// spelling of a label, so an empty list is followed by a request for each of the
// labels, by its ETag. Each page is asked for by its ETag, so an unchanged
// one costs nothing of the rate limit. A list by state label would be one per state,
// miss an issue that moves between two of them, and know only one spelling. With
// a board a GraphQL request for each 100 open issues is added, because a move on
// the board changes no ETag; it also checks the board and its options. A list of
// closed issues is asked for only when "closed" is among the states. With state
// labels, the labels of the repository are asked for until one has the prefix, and
// only while no issue that was read has one.
//
// A read by id asks the same list when it is known to have no more pages than
// there are ids, and for each issue that is not in it by itself; otherwise it asks
// for each by itself. All of that by ETag too. When an issue is missing, the list
// must answer before it counts as gone.
//
// A candidate costs one request when something blocks it, for each change of the
// issue or of the number of its open blockers, and a hundredth of a GraphQL
// request for each change of the issue. What a person may do costs one request,
// and one by ETag in each poll.
//
// # Trust
//
// The title and description of an issue reach the agent, so they must be by
// somebody who could as well change the code. Labels are set by such people
// anyway; comments are not part of the prompt. With trust: members an issue
// passes in one of two ways:
//
//  1. Its author is a person whom GitHub calls OWNER, MEMBER or COLLABORATOR, and
//     the author and everybody who edited its description or title have write
//     access. (Members and collaborators may be allowed to read alone. A member
//     whom GitHub shows to others as NONE, since the membership is private, needs
//     the second way.)
//  2. It bears the label trust_label, which was put on, the last time, by a
//     person with write access, in a later second than that of the last edit.
//
// Bots and deleted accounts are trusted with neither. What GitHub does not tell
// (an edit history of more than 100 entries, a permission that the token may not
// read) counts as no. A request that fails fails the read instead, because an
// outage must not take the work from who is at it. The edit history comes with
// the text that it is about: a text that changed since it was read does not pass.
// It is kept for as long as the issue, its text and its label are the same. What a
// person may do is asked again in every poll, so that access which is taken away
// counts no longer; a session on such an issue is stopped.
//
// What an agent writes by github_api bears the name of the token's owner: with
// the token of a person it is trusted, with that of a job it is not.
//
// # The tool
//
// A call is refused before any request unless a row of the table in allowed.go
// has its method and path. There is no row for settings, secrets, merges or
// anything that people or protections rely on; tool_scope: token lifts the bound
// of the repository and nothing else. Guards refuse, by what the call says, the
// state branch, the label of trust, approvals and workflow files. Branches may
// be made and moved forward, except for the default one; GitHub is asked first
// which that is, and that a commit changes no workflow.
//
// # The libraries
//
// REST is go-github's (v62), GraphQL is shurcooL/graphql's, which writes each query
// from the struct that takes its answer. Below both is one http.RoundTripper
// (wire.go): what is promised above of the token, redirects, rate limits, sizes and
// retries holds for every request, whichever library makes it. A second one
// (graphql.go) judges the errors of a GraphQL answer, which the client cannot tell
// apart. Lists and issues are asked for by go-github's NewRequest and Do instead of
// its methods, because those take no ETag, give up a whole page for one malformed
// record, and have no issue_dependencies_summary, which saves a request per issue.
package github
