// Package codextest is test equipment: a scripted model behind the real Codex.
//
// [NewModel] starts a server on loopback that answers Codex with the replies of
// its lanes, valid and broken ones, and keeps the requests of Codex. [Home]
// writes the configuration with which Codex uses that server. So a test can make
// the real Codex run any command or call any tool, without a login.
//
// Package scriptedagent is the other stand-in: it replaces Codex itself.
package codextest
