// Package codex is a client of the Codex app-server (SPEC §10): it opens a
// session over a connection, runs turns on one thread, answers everything the
// server asks, and says what happened.
//
// It speaks over any [io.ReadWriteCloser] and does nothing else: it never
// starts a process, reads the environment or touches a file. Package workspace
// makes the connection and ends the process behind it; package attempt calls
// [Open], then [Session.Turn] as often as the issue needs, then [Session.Close].
// In one session of a tick it calls [Session.Check] before the first turn, which
// finds out whether any session can work; [Preflight] does that alone.
//
// From the bottom up:
//
//	frame     lines of at most 16 MiB
//	message   a line as a request, a notification or a reply
//	field     the parts of a message, in the spelling of any server
//	conn      one goroutine reads, one writes
//	call      our calls and their answers
//	answers   the table of what the server may ask, and what it is told
//	tool      the tools of the host, off the read loop
//	policy    what the agent may do: all that the thread and each turn are told
//	params    the same in the words of the protocol
//	weaken    what a workflow opens of it
//	echo      whether the server grants what was asked for, and no more
//	notice    what the server tells, and the events made of it
//	usage     tokens spent, rate limits
//	outcome   how a turn ended, in the words of two generations of servers
//	server    the handshake and the login
//	session   the thread; turn runs one turn on it
//	preflight what keeps sessions from working
//	skill     the skills that a prompt names
//
// What holds at all times:
//
//   - Every request of the server that can be read gets exactly one answer, in
//     the words of the protocol. The server waits for it without a limit.
//   - The read loop never waits for a tool, and for a server that does not read
//     only as long as one request may take. Reading goes on between turns.
//   - A line that cannot be understood is an event, never the end of a session.
//     Only the connection's end and a line beyond 16 MiB are.
//   - A session whose posture is not what was asked for does not go on. An older
//     server that cannot do all of it is asked for less, with a warning that
//     names what is lost.
//   - The key is in one message and nowhere else; the wire's tap is not shown it.
//   - A turn ends our turn only when it is ours: messages of other threads
//     (sub-agents) and of other turns count as signs of life and as spending.
//   - Totals of tokens are counted once for each thread, whatever shapes the server
//     reports them in; what is spent between two reports is never added.
//   - A session makes at most Config.MaxToolCalls calls of tools: see
//     Session.refuseTool for what happens beyond.
//   - The target is Codex 0.169; fields and methods of older servers are
//     understood where they differ.
//
// What is not covered:
//
//   - Servers that have no thread/start: those before the second generation of the
//     protocol (newConversation, sendUserMessage, addConversationListener), and
//     `codex exec --json`, which speaks another one. [Open] fails with their refusal.
//   - Servers too old for account/login/start, when a key is to be used: they would
//     write it to disk ([ErrTooOld]). With a login of their own they work.
//   - Transports other than lines of JSON over one connection: no WebSocket, no
//     remote app-server, no Content-Length headers. An app-server that somebody
//     else runs would have its own idea of the workspace and of the sandbox.
//   - Logins by ChatGPT over the connection, and the refresh of their tokens: the
//     login is the server's own, and account/chatgptAuthTokens/refresh is refused.
//   - Questions to a person (requestUserInput, elicitations): they end the turn.
package codex
