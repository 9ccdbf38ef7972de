// Package ssh connects to this program on another host: [Dialer.Dial] starts it there by the system's ssh, and
// returns its input and output as a connection.
//
// The system's ssh brings known_hosts, agents, certificates, ProxyJump and ~/.ssh/config; this package reads
// none of them. It never asks: a host whose key is unknown, or that wants a password, is refused with the
// command that a person runs. [Conn] is a stream of bytes; their meaning is the caller's.
//
// # Until the connection
//
// ssh gives a command to the login shell of the user there, which may be any, so the command is
//
//	exec sh -c '...'
//
// with a script of one line without quotes, backslashes and exclamation marks (script.go). Profiles may print
// what they like before it runs, within bounds. The script answers with a line that begins with a random
// mark; the mark is not a word of the script, so a shell that shows its commands does not answer in its
// place. The answer is one of these:
//
//	ready           the program replaces the script, and everything after this line is the connection
//	missing         the program is not there yet
//	noexec          it is there, and the file system does not let it run
//	system NAME     the host has another operating system or processor than this one
//	send            the upload begins: the script reads the program from its input
//	there, stored   the program is there, and was before or is now
//	failed STEP ... the program could not be stored
//
// The program is stored in ~/.cache/symphony/bin there (XDG_CACHE_HOME is respected) under a name with its
// SHA-256, so that each version is uploaded once and versions do not disturb each other. It is written beside
// its name, compared with its checksum and renamed: dialers at the same time, and ones that are killed,
// leave nothing half. One that a failure of power has cut is stored again. It is the executable of this
// process, also after another version was installed in its place. Versions that nobody has started for 30 days
// are deleted at the next upload.
//
// # What is never sent
//
// ssh gets a few variables of the environment ([Dialer]), so that neither ssh nor a SendEnv of its settings
// can pass on a secret. Arguments hold the script and the mark, which is no secret. Agent, X11, ports and
// tunnels are not forwarded, and no connection stays behind as a master.
//
// # The end
//
// [Conn.Close] ends the input of the program there, waits, and kills ssh. If this program is killed, the kernel
// ends ssh with it (Linux). On the host, the program reads the end of its input in both cases.
// A failure is [ErrRefused] if a person has to change something, [ErrUnreachable] if another try may work,
// and [ErrNoSSH] without ssh on this machine.
package ssh
