// Package worker runs sessions on other hosts (SPEC Appendix A). The same program is at both ends of a
// connection: [Hosts] here, where the tick runs, and [Machine] on the host, started there by package ssh.
//
// # What is where
//
// The host performs the whole attempt ([attempt.Run]), with its guard as it is here: workspace, Codex, sandbox,
// setup, hooks, check of the work. Everything that needs a credential or the state stays here, and is a call
// of the host's over the connection:
//
//	desk.go     source.go   the issue and the tracker's tools, replies, pictures, the store of the repository,
//	                        deliver and settle; source.go is the host's side of the store
//	folder.go               .git folders and work as tar, and the packs that the host keeps
//	message.go              the order of a session, and its messages: updates, event log, log, outcome
//	hosts.go    serve.go    a session as this side and as the host sees it
//	            place.go    the host's answers about its workspaces, and the test of the host
//	link.go     failure.go  calls in both directions, and errors that keep their meaning
//	untrusted.go pings.go   the bounds of the messages of a host
//
// A host that was taken over can do through these calls what its agent could: change its issue by the tracker's
// tools, speak in its conversation, read the repository, and have work published, which is checked here. So this
// side believes nothing that it knows itself: the issue, its pictures, what was delivered, and the base of the work.
// It counts the calls, answers a few at once, and has answered all of them when [Hosts.Run] returns. What only the
// host knows is its word: the tokens, the result of delivery.verify and of the second look, and why a session failed.
//
// The key of the model's API is the only secret that goes to the host. It is in the memory of this program
// and of Codex there, and the superuser of that host can read it. Nothing is in arguments or variables.
//
// # Folders of the host
//
// The workspaces are where workspace.root says, with the home and the variables of the host. Beside them,
// in ~/.local/state/symphony (XDG_STATE_HOME), are the files of sessions, the packs of the repository, so that
// each pack comes once, and the packs of setup. No agent can read them, nor the ones of other projects.
//
// # The end
//
// A connection that is lost ends the session on the host at once, without its hooks' full time, and nothing
// of it runs on. Both sides notice within half a minute, also if the network says nothing. Here the
// outcome is [schedule.HostLost]: it says nothing of the issue. Its work stays in the workspace there. What
// the session would have published is not: without a connection no host can publish anything.
package worker
