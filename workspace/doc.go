// Package workspace is the only package that makes, changes or removes
// workspaces, and the only one that starts processes for an issue; git in the host's
// own repositories is started by the package git below it. It decides where the work
// on an issue happens and which part of our environment the processes there see, and it
// makes sure that none of them outlives its session. It does not decide whether or
// when something runs, and it knows neither trackers nor the agent's protocol: to
// this package an agent is an [io.ReadWriteCloser] with an exit status.
//
// # Story
//
// A run attempt calls [Root.Prepare] for the folder of its issue (a new one, in
// which after_create runs, or the one that the last attempt left), runs
// [Root.BeforeRun], starts the agent with [Root.Start], ends it with
// [Process.Stop], and runs [Root.AfterRun]. When the issue is closed,
// [Root.Remove] runs before_remove and deletes the folder. The holder of the
// issue's claim makes the calls for one workspace one after the other; different
// workspaces are independent of each other. Two states may have issues of the same
// name and the same root, such as two projects with the default root on one machine:
// until [Root.Release] no other process works in a workspace, removes it, or kills what
// runs there.
//
// Workspaces are preserved across runs (SPEC §9.1) as long as their disk is. A
// hosted runner of GitHub Actions loses its disk with the job. The Action saves
// workspaces to its cache only when an input asks for it: anybody who can open a
// pull request can read that cache, and it would bring back a folder as the agent
// left it. Work that must last is published by the program, or where it knows no repository
// by a hook. The agent's thread is kept, and its next session is informed that the folder is
// new.
//
// # Invariants
//
// Containment (SPEC §9.5). A workspace is a real folder directly under the root,
// named by [Key], reached through an [os.Root] that was opened once. A symbolic
// link, a file or anything else in its place is refused, never followed and never
// deleted. Every process is started in the folder that was checked: on Linux by
// its descriptor, so that nothing can be swapped in between. Inside its workspace
// the agent may create what it likes; removal and fingerprint never follow a link
// out of it.
//
// Complete or gone. While after_create has not succeeded, and once a removal has
// begun, the workspace is marked as partial in the folder ".symphony" beside the
// workspaces (see metadata.go). After a kill at any time the next Prepare finds
// that mark, deletes the folder and creates it again.
//
// Environment (SPEC §15.3). A child sees an allowlist of variables and those that
// the workflow names, never those that the caller denies; see [Env]. The denied
// names are removed a second time after the shell has read the login profile.
// [HideFromChildren] keeps children from reading our own environment. [Output] alone gives a
// child all of it: a script of the operator, on which no issue has an influence.
//
// Git. An agent that may commit cannot change the configuration and the hooks of
// .git, nor where git looks for them; see [Root.Seal]. Links that it leaves in .git
// are removed before a hook runs. Git obeys other places as well: a folder of the
// work that core.hooksPath names and a repository inside the work belong to the
// agent, so a hook that does more than fetch and push trusts the agent. [Root.ReplaceGit]
// puts a new .git in the place of whatever the agent left; with Hooks.GuardGit a hook
// starts only where git would find nothing else than such a one (git_check.go).
//
// Bounds. An agent runs within [Limits]; hooks do not. Named pipes, sockets and
// devices are removed before a hook runs, so that no hook waits for one.
//
// No process is left. A session (a hook or an agent) is a process in an operating
// system session of its own with a random mark in its environment. It ends when
// its leader ends: every other process that it started is then killed, before the
// end is reported. On Linux we are the subreaper of our children, so everything a
// session starts stays below us in the process tree and is recognized by session,
// group, parentage, mark or, if it dropped the mark, by a working directory in the
// workspace. Only a process that dropped all five escapes, which requires intent;
// and an orphan with a session of its own that ends before its session does stays
// a zombie until we end. [ReapOrphans] frees other dead orphans at once.
//
// If we are killed ourselves, the kernel kills the leaders, and the next Prepare of
// a workspace kills every process whose environment names it. Prepare searches for
// such processes only if the metadata of the workspace does not say that the last
// session ended under our control (see metadata.go). On other systems than Linux
// there is no such view: the process group is killed, a daemon that left the group
// survives, and an agent that outlives us ends only if it reacts to the end of its
// input.
package workspace
