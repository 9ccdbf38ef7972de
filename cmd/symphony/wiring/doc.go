// Package wiring opens what a command needs outside of the program, as the environment, the flag --state
// and a WORKFLOW.md name it. It knows no flags and prints nothing: package main has both.
//
// A command asks for a part, and each part embeds the ones that it needs:
//
//	Process     process.go     the environment, the streams and the job; interrupt.go, login.go, identity.go
//	GitHub      github.go      which server and repository, and whose token; run_server.go, github_app.go
//	StatePlace  state_place.go the state that --state names; StateStore (state_store.go) keeps it
//	Opener      connect.go     the tracker, the channel to people and, in repository.go, the repository
//
// Nothing is requested before a part is used, so bad settings are found before anything is touched. Their
// errors are [ErrUsage] and say which variable, flag or key is to be changed. Each credential that a part
// reads is first made known to the redactor (redact.go).
package wiring
