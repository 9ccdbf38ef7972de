// Package action is the Actions runtime: the only way in which a step talks to the
// runner. cmd makes one [Runtime], gives its [Runtime.Writer] and [Runtime.Handler]
// to everything that prints, publishes the report through it, and closes it at the
// end.
//
// # Text from outside
//
// The runner reads standard output for commands, and most of what we print was
// written by strangers: an issue, an agent, a hook. So nothing else prints, and
// text from outside is escaped so that no line of it is a command, for the runner
// and for stricter readers: see command_escape.go. The changes are visible: a space
// in "::" at the beginning of a line and in "##[" anywhere, a picture in place of a
// control character. Commands come from methods of Runtime only, each on a line of
// its own.
//
// The runner's stop-commands is not used on top of that: the runner prints its
// token, so a process that reads the log knows it, and a step that is killed
// leaves commands stopped.
//
// # What it decides
//
//   - [Runtime.Mask] registers a secret once, line by line, so that a line "{" of
//     it does not mask every brace of the log.
//   - Ten annotations of a kind are shown; the tenth sums up the rest.
//   - [Runtime.Output] refuses a value that would forge another output.
//   - [Runtime.Summary] is cut between blocks, and says so.
//   - [Runtime.Job] reads the limits of the job from the workflow file in the
//     checkout, because the runner does not say them.
//   - [Refuse] decides where the program must not run.
//
// Outside Actions it prints plain text and leaves out what only the runner reads.
// It never hides secrets in text (redact does), never decides what to report,
// and never panics for a file that is not there: go-githubactions does, and this
// package turns that into an error.
package action
