// Package discussion reads what is said about issues and their pull requests, and says
// there what the program and its agents have to say.
//
// [Discussion.Read] is called once in a poll, for all issues with a claim or a delivery.
// As long as nothing is new it costs one request for each 100 issues and one for each 100
// pull requests; what is said is read only where something has changed since it was read
// last. It is kept in memory, so that after a change only what is new is read, and whose
// word counts is decided again in each poll. A new process reads it once more.
//
// What is said is data: it is passed on as it was written, and package feedback decides
// what counts. What the program says is made harmless first (mentions, commands and
// hidden text of an agent), bounded, and marked, so that it is found and replaced the next
// time.
package discussion
