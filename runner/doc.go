// Package runner performs the orchestrator's tick, and is the tour of the
// program: read the packages in this order.
//
// # From the bottom up
//
// tracker is what the program knows of an issue tracker: an issue, two
// questions, tools for the agent. The packages below it are the adapters.
//
// codex speaks to the agent over any io.ReadWriteCloser: it opens a thread,
// runs turns on it, answers every request of the server, counts tokens. It
// cannot start a process.
//
// workspace is the only package that can, and only in an issue's own folder. It
// runs the hooks there too, and sees to it that nothing is left running.
//
// These three never import each other. Above them are four pure or nearly pure
// packages: workflow turns WORKFLOW.md into settings, prompt turns an issue into
// text, schedule decides what should happen now, report turns what happened into
// text and JSON. store keeps claims between runs, and attempt makes one run
// attempt: it composes workspace, prompt and codex, and turns whatever happens
// into an outcome that schedule understands.
//
// # One tick
//
//	open   Workflows.Current, Connect, Store.Load; adopt what dead runs left
//	┌─ pass   reload WORKFLOW.md; at a poll: read the state again, clean up once, read claims and candidates
//	│         plan    schedule.Plan — what would start on old knowledge is read again first,
//	│                 and so is a list of candidates that is older than a poll
//	│         commit  Apply, then Store.Save: claims are durable BEFORE any effect;
//	│                 another run was faster: load, carry our exits over, doubt all
//	│                 that was read, plan again
//	│         perform start and stop sessions, remove workspaces
//	└─ wait   a session's report or exit, the poll timer, schedule's Wake, the deadline, a signal
//	until nothing runs and nothing falls due shortly; then save and report
//
// The loop is level-triggered: it plans from what is (the claims, and a view of
// the tracker that every read and every exit adds to), never from what happened,
// so a missed event costs time and nothing else. Without Once the same loop goes
// on for ever. One goroutine owns all state; sessions send to its inbox, and what
// they say while it is busy is merged, so neither waits for the other.
//
// What the runner never does: decide (that is schedule), format (report), touch
// a workspace or a process (workspace), or know which tracker it reads.
package runner
