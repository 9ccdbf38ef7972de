// Package door lets the commands of an agent reach what this program names to them out of a network
// namespace that has no way out. A door is one or more listeners of this program inside the namespace
// of one command. Behind each is a server outside of the sandbox, such as a proxy of package proxy.
//
//	Codex starts a command ── the program before bubblewrap ── Enter ── bubblewrap ── the command
//	                                                            │            │              │
//	session: Doors ◀──────────── two pipes ────────────────────┘            │              │
//	           └── nsenter ── Listen: the listeners ◀───────────────────────┘              │
//	           └── Behind ◀───────────────────────── 127.0.0.1:PORT ───────────────────────┘
//
// [Main] in the word enter asks the session for a door, over a Unix socket, and then becomes
// bubblewrap. The session has the ends of two pipes: bubblewrap writes to one which process has the
// new namespaces, and begins the command when it can read from the other. In between nsenter starts
// [Main] there in the word listen, which makes the listeners, sends them back and ends. So no program
// with the rights of this one stays in the namespace, and no command begins before its door is open.
// When bubblewrap ends, its pipe does. A second later, in which what the command has sent last is
// passed on, the door is closed.
//
// Whatever fails leaves the command without a door, and so without a way out. It begins all the same,
// also if the session ends. But a command whose bubblewrap is killed while it waits is ended, because
// bubblewrap would do that only later.
package door
