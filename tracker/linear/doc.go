// Package linear is the tracker adapter for Linear (SPEC §11): one project of a
// workspace, read over GraphQL, and the tool with which the agent changes it.
//
// The adapter reads; it writes when the agent calls linear_graphql (SPEC §11.5), and when the
// program hands an issue over ([tracker.Writer]). It decides which issues are visible and
// whether the assignee allows work on one. The scheduler decides which blockers hold an issue
// up (SPEC §8.2). [Kind] describes the settings, and a decoded [Config] opens the adapter.
//
// README.md has the adapter's profile, what the tool may do, and what a poll costs.
// "me" as assignee takes no request: Linear filters by it, and its answers say
// whether an assignee is the owner of the key.
//
// The tool sends only the mutations that tool_checks.go lists. One that Linear adds
// is refused until it is listed there. The program's own are in writer.go.
//
// # How an answer is read
//
// The GraphQL client writes each query from the struct that receives its answer
// (query.go). It keeps no status, header or code of a failure, and takes
// {"data": null} for an empty result. Therefore the http.RoundTripper below it lets
// nothing pass but data without errors (response.go), over the transport that all
// requests with a credential share; and a page without its nodes and pageInfo is an
// error (query.go). The client's own decoder makes ten times the allocations of
// encoding/json, which decodes the data into the same struct instead (adapter.go).
package linear
