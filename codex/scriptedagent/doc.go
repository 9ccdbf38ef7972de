// Package scriptedagent is a small agent that takes the place of Codex where there is no model:
// [Serve] speaks the protocol of `codex app-server` 0.169.0 on two streams and does what the
// prompt of a thread says. It writes the files, runs the commands and calls the client's tools
// for real, without a sandbox. `symphony demo` and the trial run it, so that they need no
// credentials.
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
//	Call `tool` with `arguments`          JSON; a failure is said
//	Move this issue to `state`            call issue_update with the state
//
// A fenced block below the item can be its last argument. An open item that is none of these
// steps fails the turn before any step is done.
//
// With a home folder, a later process can resume a thread from the file below sessions, which
// records a turn when it begins, as a rollout of Codex does. The agent runs programs of the
// client, and knows the permission profiles that its configuration names. It checks nothing
// that a client asks for, and follows no policy: the script alone decides what it does.
//
// Tests add steps and refusals ([Options.Verbs], [Options.Refuse]): package
// internal/scriptedagent has them, and compares the agent with the real Codex. It shares no
// code with package codex, so that no mistake is on both sides of a conversation.
package scriptedagent
