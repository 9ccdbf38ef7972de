// Package transcript reads the event log of a session and shows it as a person reads
// it: the prompt, the thoughts and messages of the agent, its commands with their output and
// exit status, the files it changed as a diff, its tool calls, the tokens of each turn,
// and the outcome of the session.
//
// A [Line] is one line of the log, which package attempt writes: a message of the
// app-server protocol, an event of the session, or a record of the program's own. A
// [Reader] turns lines into entries as they come, so the same code shows a finished
// file, follows one that grows, and feeds a [Live], from which the process that runs a session
// shows it. [Text] and [HTML] show an entry, [LogLines] an entry in a log that several
// sessions share, [WritePage] a whole session as a page that stands alone.
//
// All of it was written by the agent, its commands and the tracker, and may be hostile.
// The Reader therefore cleans and bounds every text before it becomes part of an
// [Entry]: no entry holds an escape code, a character that changes the direction of
// writing, or a secret that Reader.Redact knows. What shows entries has only to escape
// for its own medium. The package has no clock and starts no goroutine.
package transcript
