// Package linear is the tracker adapter for Linear (SPEC §11): one project of a
// workspace, read over GraphQL, and the tool with which the agent changes it.
//
// It reads and never writes; what the agent asks of linear_graphql is the
// agent's doing (SPEC §11.5). It decides which issues are visible and whether
// the assignee allows work on one. What holds a Todo issue up is the scheduler's
// to say (SPEC §8.2). Only cmd calls [ConfigFrom] and [Open].
//
// # Profile
//
//   - kind: linear
//   - keys: endpoint, api_key, project_slug, and assignee (a user's id, or me).
//   - defaults: endpoint is https://api.linear.app/graphql, api_key is
//     $LINEAR_API_KEY; without assignee everybody's issues count.
//   - secrets: api_key, sent as it is in the Authorization header (write
//     "Bearer " before an OAuth token), only to endpoint: https, or http on
//     loopback. No redirect is followed. Children do not inherit LINEAR_API_KEY,
//     and the key is cut out of all that the server sends.
//   - scope: the one project whose slugId is project_slug. Archived and trashed
//     issues, and those that moved to another project, are not visible.
//   - paging: pages of 50; ids in batches of 50. A missing or repeated cursor
//     and a list of more than 200 pages are errors.
//   - identity: id is Linear's UUID, identifier the key like ENG-123; native_ref
//     has id, team_id and team_key.
//   - states: the names of the project's workflow states, whatever their case
//     and outer space. Blockers are the inverse relations of type blocks, all of
//     them, each with its state.
//   - labels: lower case, trimmed, each once, all of them. Lists of candidates ask
//     Linear for the issues with all of tracker.required_labels; a label with
//     letters beyond ASCII that have two cases is compared here alone.
//   - priority: 1 (urgent) to 4 (low); Linear's 0, and a fraction, is none.
//   - dispatchable: always; with assignee, only that user's issues. Lists of
//     candidates leave the others out, reads by id say why.
//   - tools: linear_graphql {query, variables?} executes one query or mutation
//     (SPEC §10.5), of whatever the key can see; or the query alone, as text.
//     variables is an object or null; there is no operationName, since a second
//     operation is refused. Mutations of content are sent, each once and never
//     tried again; people, access, keys, webhooks, integrations and settings are
//     refused, and so are fields that hold secrets. The result is Linear's answer
//     as it came, cut at 64 KiB; OK is false when it has errors. Without an answer it is {"error":
//     {code, message}}, where code is invalid_input, refused, tracker_rate_limited
//     or one of the names below.
//   - errors: missing_tracker_api_key (missing_tracker_secret),
//     missing_tracker_project_slug (invalid_tracker_config), linear_api_request
//     (tracker_request), linear_api_status (tracker_status),
//     linear_graphql_errors and linear_unknown_payload (tracker_response),
//     linear_missing_end_cursor (tracker_pagination), tracker_rate_limited.
//   - limits: 30 s for an exchange; two retries of a passing failure, after
//     Retry-After or up to 1 s and 2 s; a longer wait than 5 s is left to the
//     caller; answers of up to 32 MiB; 64 KiB of a tool's query and of its result.
//
// # What a poll costs
//
// ceil(candidates/50) requests, at least one, for a list (candidates are in an
// active state and have the required labels and the assignee), and ceil(claims/50)
// for a refresh. By Linear's published rules (a scalar 0.1 points, an object 1,
// times the size of the page it is on) a page of a list costs 1,898 points, a
// refresh of n issues about 38 n: it asks for a page of that size. An issue with
// more than 10 labels or 5 inverse relations takes one more request (59 or 174
// points) for every 50 of them. Linear refuses a query of more than 10,000.
//
// "me" takes no request: Linear filters by it, and says of an assignee whether
// it is the owner of the key.
//
// # Trust
//
// There is no gate: whoever can write in the project, guests, integrations and
// forms included, writes what the agent reads. tracker.required_labels keeps
// issues back until somebody labels them. The tool sees all that the key sees, in
// every team; what it may change is listed in mutations.go, by the names of
// mutations, and a mutation that Linear adds is refused until it is listed there.
//
// # Nothing to do, or nothing there
//
// Linear answers a wrong project_slug or state with an empty list. So the first
// list of a process asks for the project and the states of its teams in the same
// request (3,067 points instead of 1,898). It refuses an unknown project, an
// active state that no team of the project has, and terminal states of which it
// has none, and names what exists.
//
// # How an answer is read
//
// The GraphQL client writes each query from the struct that receives its answer
// (query.go). It keeps no status, header or code of a failure, and takes
// {"data": null} for an empty result. Therefore [wire], the http.RoundTripper
// below it, lets nothing pass but data without errors, and gives everything else
// as a typed [refusal] (judge.go); and a page without its nodes and pageInfo is
// an error (page.go). The client's own decoder makes ten times the allocations of
// encoding/json, which decodes the data into the same struct instead (read.go).
package linear
