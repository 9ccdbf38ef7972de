// Package scriptedagent is a small agent that takes the place of Codex: [Serve] speaks
// the protocol of `codex app-server` 0.169.0 on two streams and does what the
// prompt of a thread says. It writes the files, runs the commands and calls the
// client's tools for real, without a sandbox and without a model. `symphony demo`
// runs it, so that the demonstration needs no credentials; tests run it because it
// does exactly what they say.
//
// The script is the prompt, in Markdown that a person, or Codex, can follow as
// well:
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
// Open task-list items are steps, done in order. The heading "Next turn" divides
// the script into parts: part n is done in turn n of the thread. A part whose turn
// was interrupted, or failed because a step failed, is done again by the next turn.
// When no part is left, a turn says so and completes. Everything else is prose,
// fenced blocks too. Only the first prompt of a thread is a script: later input
// continues it. The steps are
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
//	Flood `count`                         send this number of deltas of 200 bytes
//	Output `count` bytes                  from a command
//	Send `line` verbatim                  which may not be JSON
//	Send a line of `count` bytes          which is JSON
//	Ignore signals and EOF                so that only SIGKILL ends the process
//
// A fenced block below the item can be its last argument. A code span that contains
// backticks is fenced by more of them, as always in Markdown. An open item that is
// none of these steps fails the turn before any step is done.
//
// With a home folder, a later process can resume a thread: its rollout, below
// sessions, records a turn when it begins, as Codex does.
//
// It runs programs of the client, and knows the permission profiles that its
// configuration names.
//
// The tests hold the same conversations with this agent and with the real Codex, and
// compare every message with the recorded fields (testdata/shapes.txt). One
// difference is deliberate: the agent checks policies and does not follow them,
// because the script alone decides what it does and when it asks. It shares no code with
// package codex, so that no mistake is on both sides of a conversation.
package scriptedagent
