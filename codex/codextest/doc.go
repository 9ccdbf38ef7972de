// Package codextest stands in for what a coding agent is made of: a scripted
// agent in the place of Codex, and a scripted model behind the real Codex.
// Both are servers that are talked to over the wire that the product talks
// over. Tests use them, and so does a demonstration that needs no credentials,
// which is why the package uses the standard library alone and not testing.
//
// # The agent
//
// Serve speaks the protocol of `codex app-server` 0.169.0 on two streams, and
// does what the prompt of a thread says: it writes the files, runs the commands
// and calls the client's tools for real, without a sandbox and without a model.
// The script is the prompt, in Markdown that a person can follow as well, and
// so can Codex:
//
//	Please look after this issue.
//
//	- [ ] Create `hello.txt` containing `Hello`
//	- [ ] Run `git add hello.txt && git commit -m "Say hello"`
//
//	## Next turn
//
//	- [ ] Move this issue to `Review`
//
// Open task-list items are done in order. Part n of the script, parts being
// divided by the heading "Next turn", is done in turn n of the thread; a part
// whose turn was cut short, or failed because a step did, is done again by the
// next turn, and when no part is left, a turn completes and says so. All else
// is prose, fenced blocks too. Only the first prompt of a thread is a script:
// what a client says later just lets the thread go on. The items are
//
//	Create `path` containing `text`       make a file; text ends in a newline
//	Append `text` to `path`
//	Run `command`                         with bash; a failure fails the turn
//	Leave `command` running               in a session of its own, for good
//	Ask for approval of `command`         and run it if the client agrees
//	Ask `question`                        and say the answer
//	Call `tool` with `arguments`          JSON; a failure is said
//	Move this issue to `state`            call issue_update with the state
//	Say `text`
//	Spend `count` tokens                  besides the 100 in and 20 out of a turn
//	Wait `delay`                          such as 250ms
//	Hang                                  until interrupted
//	Fail with `failure`                   usageLimitExceeded, or httpConnectionFailed 503
//	Exit `count`                          the process, with this code
//	Flood `count`                         so many deltas of 200 bytes
//	Output `count` bytes                  from a command
//	Send `line` verbatim                  which may not be JSON
//	Send a line of `count` bytes          which is JSON
//	Ignore signals and EOF                so that only SIGKILL ends the process
//
// A last argument may be a fenced block below the item. A code span that holds
// backticks is fenced by more of them, as ever in Markdown. An open item that
// is none of these fails the turn, before anything is done.
//
// With a home, a thread can be resumed by a later process: it keeps a rollout
// below sessions, which counts a turn from its beginning, as Codex does.
//
// The agent is as honest as the tests can make it: they hold the same
// conversations with it and with the real Codex, and compare every message
// with the fields that were recorded of it (testdata/shapes.txt). It differs on
// purpose in this: policies are checked and then not followed, as the script
// alone says what to do and when to ask.
//
// # The model
//
// NewModel starts a server on loopback that answers the real Codex with replies
// from its lanes, good ones and bad ones, and keeps what Codex asked. Home
// writes the configuration that makes Codex use it.
package codextest
