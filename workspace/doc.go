// Package workspace is the only package that makes, changes or removes
// workspaces and the only one that starts processes. It decides where an issue's
// work happens, what the processes there may see of our environment, and that
// none of them outlives its purpose. It never decides whether or when something
// runs, and it knows neither trackers nor the agent's protocol: an agent is an
// [io.ReadWriteCloser] and an exit.
//
// # Story
//
// One run attempt asks [Root.Prepare] for the folder of its issue (made anew
// with after_create, or the one of last time), runs [Root.BeforeRun], starts the
// agent with [Root.Start], ends it with [Process.Stop], and runs [Root.AfterRun].
// When the issue is over, [Root.Remove] runs before_remove and deletes the
// folder. Calls about one workspace come one after the other, by the holder of
// the claim; different workspaces are independent of each other.
//
// Workspaces are preserved across runs (SPEC §9.1) as long as their disk is. A
// hosted runner of GitHub Actions loses it with the job. The Action does not save
// workspaces to its cache unless it is told to: anybody who can open a pull
// request can read that cache, and it would bring back a folder as the agent left
// it. Work that must last is pushed by after_run; the agent's thread is kept, and
// its next session learns that the folder is a new one.
//
// # Invariants
//
// Containment (SPEC §9.5). A workspace is a real folder directly under the root,
// named by [Key], reached through an [os.Root] that was opened once. A symbolic
// link, a file or anything else in its place is refused, never followed, never
// deleted. Every process is started in the very folder that was checked: on
// Linux by its descriptor, so that nothing can be swapped in between. What the
// agent puts inside its workspace is its own business; removal and fingerprint
// never follow a link out of it.
//
// Whole or gone. A folder whose after_create has not succeeded, or whose removal
// has begun, is marked in ".symphony" beside the workspaces until it is whole or
// gone. After a kill at any instant the next Prepare finds the mark and starts
// afresh.
//
// Environment (SPEC §15.3). A child sees an allowlist and what the workflow
// names, never what the caller denies; see [Env]. The denied names are removed
// once more when the login profile has been read. [HideFromChildren] keeps
// children from reading our own environment.
//
// Git. An agent that may commit cannot change the configuration and the hooks of
// .git, nor where git looks for them; see [Root.Seal]. Links that it leaves in .git
// are removed before a hook. This is not all that git obeys: a folder of the work
// that core.hooksPath names and a repository inside the work are the agent's own,
// so a hook that does more than fetch and push trusts the agent.
//
// Bounds. An agent runs within [Limits]; hooks do not. Before a hook, named pipes,
// sockets and devices are removed, so that no hook waits for one.
//
// No process is left. A session, that is a hook or an agent, is a process in a
// session of its own with a random mark in its environment. It is over when its
// leader is: whatever else it started is then killed at once, before anybody is
// told of the end. On Linux we are the subreaper of our children, so everything
// a session starts stays below us in the process tree and is known by session,
// group, parentage, mark or, when the mark was dropped, by a working directory
// in the workspace. Only a process that dropped all five escapes, which takes
// intent; and an orphan with a session of its own that ends before its session
// does stays a zombie until we end. If we are killed ourselves, the kernel kills
// the leaders, and the next Prepare of a workspace kills every process whose
// environment names it. Only a workspace in which a session did not end under our
// eyes is searched like that: its record in ".symphony" says so (see busy.go). On other systems there is no such view: the process
// group is killed, a daemon that left it survives, and an agent left behind by
// our own death has only the end of its input to go by.
package workspace
