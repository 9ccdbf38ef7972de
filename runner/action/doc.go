// Package action is the Actions runtime: what a step may say to the runner, and
// the only way it says it. cmd makes one [Runtime], gives its [Runtime.Writer]
// and [Runtime.Handler] to everything that prints, publishes the report through
// it, and closes it at the end.
//
// # Whose words are whose
//
// The runner reads standard output for commands, and most of what we print was
// written by strangers: an issue, an agent, a hook. So nobody else prints, and
// text from outside passes a guard that makes each line of it no command, for
// the runner and for stricter readers than it: see guard.go. What it changes is
// to be seen: a space in "::" at the beginning of a line and in "##[" anywhere, a
// picture in place of a control character. Commands come from methods of Runtime
// only, each on a line of its own.
//
// The runner's stop-commands is not used on top of that: the runner prints its
// token, so a process that reads the log knows it, and a step that is killed
// leaves commands stopped.
//
// # What it decides
//
//   - [Runtime.Mask] registers a secret once, line by line, so that a line "{" of
//     it does not mask every brace of the log.
//   - Ten annotations of a kind are shown; the tenth sums up what is too many.
//   - [Runtime.Output] refuses a value that would forge another output.
//   - [Runtime.Summary] is cut between blocks, and says so.
//   - [Refuse] says where the program must not run.
//
// Outside Actions it prints plain text and leaves out what has no place there.
// It never hides secrets in text (redact does), never decides what to report,
// and never panics for a file that is not there: go-githubactions does, and this
// package turns that into an error.
package action
