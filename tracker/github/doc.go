// Package github is the tracker adapter for GitHub (SPEC §11): the issues of one
// repository, and the tools with which the agent reads it and changes its own issue.
//
// The adapter reads; it writes when the agent calls issue_update (SPEC §11.5), and when the
// program hands an issue over ([tracker.Writer]). It decides which issues are visible, what
// their state is, and whether their text may reach an agent at all. [Kind] describes the
// settings, and a decoded [Config] opens the adapter.
//
// README.md has the adapter's profile, whose issues are trusted, what the tools may
// do, and what a poll costs.
//
// # Lists
//
// One list serves every state. A list by state label would take one request for each
// state, miss an issue that moves between two of them, and find only one spelling of
// a label. A move on the board changes no ETag, so a board is always read by GraphQL.
//
// A read by id uses the same list when it is known to have no more pages than there
// are ids, and reads each issue that is not in it separately; otherwise it reads
// every issue separately. When an issue is missing, the list must succeed before the
// issue counts as gone.
//
// # Trust
//
// The edit history is read together with the text, and a text that differs from the
// one read before is not trusted. The history is kept for as long as the issue, its
// text and its label stay the same. Permissions are read again in every poll. A
// request that fails makes the read fail: an outage must not stop sessions.
//
// # The libraries
//
// Package client makes all requests: what README.md promises about the token,
// redirects, rate limits, sizes and retries holds for each of them. Records are
// go-github's with one field more, issue_dependencies_summary, which saves a request
// per issue. Lists are read page by page with their ETags, and a malformed record
// affects no other. GraphQL queries are written from the struct that receives the
// answer.
package github
