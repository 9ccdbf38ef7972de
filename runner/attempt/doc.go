// Package attempt performs one run attempt (SPEC §7.2, §10.7): workspace →
// prompt → before_run → agent process → session → turns → end of the process →
// after_run; with a repository the order is another, see below. It composes workspace,
// prompt and codex, and decides nothing about scheduling. [Run] never fails: every error
// becomes a [schedule.Outcome], whose class is the meaning of the end for the issue (outcome.go).
//
// # The parts of an attempt
//
// The attempt (attempt.go, repository.go, deliver.go, prepare.go, visit.go) has the order of what
// happens, and the outcome (outcome.go, cause.go). Everything else is a part with its own state and
// methods. A part knows the journal, the core that the parts of a repository share, and the parts
// that it is given; it never knows the attempt.
//
//	journal       journal.go       the logs, and the warnings of the outcome
//	progress      events.go        the phases, the signs of life, and the hosts that were refused (blocked.go)
//	SessionIssue  own_change.go    the issue, as the session reads it again and the tracker's tools change it
//	conversation  conversation.go  what the agent says to people
//	Steering      steering.go      gives it what people say while it works
//	sessionDirs   session_dirs.go  the session's own folders, with the sockets to hide ([room.Sockets])
//	rooms         rooms.go         the rooms of the session and of its scratch folders
//	sandbox       sandbox.go       programs of the host in the agent's sandbox: commands, hooks, scripts
//	preparation   setup.go         the preparation of the project, and the tool setup
//	filler        filler.go        the files of the workspace and of scratch folders
//	harvester     harvest.go       takes the work out of the workspace
//	leftovers     leftover.go      the work that earlier sessions have left
//	check         verify.go        tests work in a clean checkout of it
//	secondLook    second_look.go   has a model read work in a clean checkout of it
//	publication   publication.go   publishes the work, also by the tool deliver (deliver_tool.go)
//
// # The folders of a session
//
// The files of a session that belong to no workspace are in Job.SessionDir: a temporary folder
// that the agent may write; a Codex home, if the session logs in with a key, of which only
// the rollout of the thread outlives the session (session_dirs.go, rollout.go); and a folder
// with the program that stands before bubblewrap and with the /tmp of commands
// ([codex.Bubblewrap]). [Forget] removes all of them together with the workspace, and
// [ForgetUnused] the folders of issues that the state does not know any more. The paths that no
// agent may read, above all the places where people keep credentials, are one list,
// [room.CredentialPaths]. [Preflight] tries everything except a turn; in a tick the first
// session runs that check on its way, and the others wait for it ([PreflightOnce]).
//
// # A repository
//
// With Job.Repository the attempt makes the files of the workspace and takes the work
// out, and no process with more rights than the agent's runs there:
//
//	folder → agent process → handshake → new .git, checkout, after_create, before_run →
//	thread → turns → background commands end → after_run → harvest → check → second look → delivery
//
// The agent process is started before the workspace has its files, because the commands
// that bring them run inside the agent's sandbox; until the thread is opened nothing of
// the agent runs. The host itself only moves a .git that it has made into its place, and
// never opens the one that was there. Hooks that are trusted run outside the sandbox all
// the same: then the process ends before them, and another one runs the turns.
//
// A message of Codex takes two ways. As a line (Options.Wire of package codex) it goes into the
// event log, and from there to the log and the pages that show the session while it runs. As an
// event (Options.Events) it becomes an [Update], from which the displays get its latest words.
//
// With Repository.Setup the project is prepared first: a script runs in a checkout of
// its own, and each workspace and each check of work gets a copy of the files that it made.
//
// A server that cannot run programs of the host in the sandbox, such as an older Codex, is refused
// before anything starts: without them nothing fills a workspace and nothing takes the work out.
//
// The work comes out as a stream of bytes over the connection of the session, is checked in a
// clean checkout beside the workspace, and goes to Repository.Deliver. The agent can publish
// during a turn as well, and the session ends after a turn in which it did: the issue stays open
// until the host hands it over, so only the agent knows when it is done.
//
// Work that the session was not able to finish is published as unproven if the session
// failed or ran out of time. Work that is refused at the end fails the issue with the
// reasons, and the first prompt of the next session begins with them. Unpublished work
// stays in the workspace, and the next session there goes on with it. A session that has
// nothing new settles work that an earlier one left half published. If that is all that is left,
// since the branch has the work of a session that ended well, the next one does it without an
// agent. A new workspace counts as made when after_create has succeeded there.
//
// # The end
//
// The order at the end is fixed: without a repository the process is dead before
// after_run, so a hook that commits or pushes never races with the agent. A session that
// is told to stop reads the reason from the cause of its context, never from an error. It
// returns within [StopTime].
package attempt
