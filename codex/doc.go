// Package codex is a client of the Codex app-server (SPEC §10). It opens a session
// over a connection, runs turns on one thread, answers every request of the server and
// reports events.
//
// It works on any [io.ReadWriteCloser]. It never starts a process and never reads the
// environment: package workspace starts and ends the process behind the connection. It touches
// files only for the /tmp of commands, links to denied paths, the test of the loopback, and
// certificates. Package attempt calls [Open], then [Session.Turn] as often as the issue needs, then [Session.Close].
// In one session of a tick it calls [Session.Check] before the first turn, to find out whether
// any session can work; [Preflight] makes the same checks alone.
//
// [Session.Exec] runs a program of the host's choice inside the agent's sandbox, over
// the same connection: before the thread is opened ([Connect], [Session.OpenThread]),
// between and during turns, and over a connection of its own after a crash. It needs
// the permission profile in the server's own configuration: see exec_profile.go.
//
// The files, from the bottom up:
//
//	message          lines of at most 16 MiB, as requests, notifications and replies
//	json_lenient     the parts of a message, in the spelling of any server
//	errors           the categories of failures, and what to do about each
//	event            what a session reports of itself
//	conn             the connection: one goroutine reads, one writes; calls and replies
//	options          what a session is given
//	choice           the model of a session, by labels of the issue, and its check
//	handshake        the first calls: initialize, login, configuration
//	posture          what the agent may do: what the thread and each turn are told
//	params           the parameters of our calls
//	denied_links     links to denied paths that Codex takes for patterns
//	verify_posture   whether the server grants what was asked for, and no more
//	loopback         the network and the Unix sockets of the agent's commands, and whether those of
//	                 this machine are closed
//	posture_warnings what a workflow allows beyond the guarded posture
//	server_requests  the answers to the server's requests
//	tool             the host's tools, which run outside the read loop
//	notifications    the server's notifications, and the events made of them
//	usage            tokens used, rate limits
//	core             what all parts of a session share
//	session          the parts together
//	thread           the session's thread: opened, resumed, named
//	turn             one turn on the thread
//	steer            what people say while a turn is in progress
//	review           one turn on a thread of its own, which reads the work
//	outcome          how a turn ended, in two generations of the protocol
//	exec             programs of the host in the agent's sandbox
//	sandbox          whether it takes them, and whether it starts
//	bubblewrap       the program before bubblewrap, which gives commands a /tmp of their own
//	exec_terminal    the terminal of a program that a person uses
//	exec_output      their output, from the read loop to a writer
//	exec_profile     the sandbox's rules in the server's own configuration
//	shell_start      what bash does before each of their commands
//	network          the hosts and services that commands reach besides
//	doorway          their way there, by packages proxy and door
//	preflight        whether sessions can work at all, and whether Codex takes what they set
//	skills           the skills that a prompt names
//	shared           a server that runs already, in which nothing may be left
//
// These rules always hold:
//
//   - Every readable request of the server gets exactly one answer, as the protocol
//     requires. The server waits for it without a limit.
//   - The read loop never waits for a tool, and waits for a server that does not read
//     only as long as one request may take. It continues to read between turns.
//   - A line that cannot be understood becomes an event. Only the end of the connection
//     and a line longer than 16 MiB end the session.
//   - A session whose posture is not what was asked for ends. An older server that does
//     not support all of it is asked for less, with a warning that names what is lost.
//   - The API key is sent in one message only, and Options.Wire sees it masked.
//   - Only the end of our turn ends it: messages of other threads (sub-agents) and of
//     other turns count only as activity and as spending.
//   - The tokens of each thread are counted once, whatever shapes the server reports
//     them in. Counts of the tokens between two reports are never added.
//   - A program of the host runs with the rules of the permission profile or not at all:
//     sandbox.admit checks them before each one. Output that is not whole is an error.
//   - No command runs in a network before a program of ours has tried it.
//   - A session makes at most Config.MaxToolCalls tool calls. requests.refuseTool
//     refuses further ones.
//   - The target is Codex 0.169. Fields and methods of older servers are understood
//     where they differ.
//
// These are not supported:
//
//   - Servers without thread/start, which are older than the second generation of the
//     protocol (newConversation, sendUserMessage, addConversationListener), and
//     `codex exec --json`, which has another protocol. [Open] fails with their refusal.
//   - An API key with servers that have no account/login/start, because they would write
//     it to disk ([ErrTooOld]). They work with a login of their own.
//   - App-servers on other machines: a posture that cannot be tried is refused. One of this
//     machine that runs already is used with Options.Shared, see shared.go; package endpoint
//     connects to it. Other transports than lines of JSON have no use here, such as
//     Content-Length headers.
//   - ChatGPT logins over the connection, and the refresh of their tokens. The server
//     has its own login, and account/chatgptAuthTokens/refresh is refused.
//   - Questions to a person (requestUserInput, elicitations): they end the turn.
package codex
