// Package runlog writes the log of a run where people read it. The caller decides the text of a
// line; this package decides how the lines get there and how many there may be.
//
// [File] is the log beside a live display: a file of a bounded size, which several processes
// may write.
//
// [Sessions] shows the work of sessions in a plain log while they do it, as a shard of a fleet
// does, where nobody has a display. It is given the lines of their event logs, and shows the
// entries that package transcript makes of them.
//
// [Follower] shows one event log of a session, to its end or while it grows.
//
// # Invariants
//
// No session and no tick waits for the reader of a log. Lines that nobody reads wait in memory,
// up to a limit, and the log has the number of lost lines.
//
// The output of sessions is hostile text: each line of it is one line without control
// characters and secrets, behind a prefix, so none is a command of the runner of Actions. A
// session that floods its log is cut, and the log names the place of the rest.
package runlog
