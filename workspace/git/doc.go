// Package git is the only package that starts git. It is the host's side of a
// delivery: it brings a repository to where an agent works, and takes the agent's
// work from there to the remote. It decides nothing about the work: which changes may
// leave is decided by the caller, who reads them here.
//
// # The rule
//
// No process with more rights than the agent runs in, or on, a repository that the
// agent can write. The host keeps a [Store], a bare repository for each remote,
// outside every workspace. The agent's work comes out of the workspace as one stream
// of bytes, a thin pack that is made inside the agent's sandbox. Everything that git
// does with the work happens in folders that only the host can write, with a
// configuration that only the host gives.
//
// # Story
//
// [Open] finds git and makes the folder of the stores. [Host.Store] opens the store
// of a remote: it repairs a store that a killed run left behind, or makes it again.
// [Store.Fetch] reads the base branch and our own branches from the remote, once per
// tick. The first fetch is a full clone, seeded from the job's checkout; a failed one
// is removed.
//
// [Store.Populate] writes a new .git into a folder that the agent has not seen yet.
// It starts no process: it copies packs and writes a few small files, for the submodules
// too. The workspace package moves the folder into the workspace ([workspace.Root.ReplaceGit]), and
// [Host.CheckoutCommands] returns the commands that fill the work tree inside the sandbox.
//
// When the agent has ended, [Host.Harvest] returns the command that packs its work,
// again inside the sandbox. [Store.Receive] reads the output of that command and returns
// an [Incoming], or a [Refusal]. An Incoming is a quarantine: a repository of its own
// that borrows the objects of the store, and that [Incoming.Close] removes completely.
//
//	[Incoming.Changes]       the difference from the merge base, by tree comparison
//	[Incoming.ReadObjects]   the contents of the new objects, for the scan for secrets
//	[Incoming.Squash]        one commit, built by the host from the allowed changes
//	[Incoming.Rebase]        the work on top of the base that has merged a part of it
//	[Incoming.MoveToBase]    the work on top of the newest base
//	[Incoming.Push]          that commit to one branch, never over somebody else's work
//	[Incoming.DeliverLocal]  the same into a repository of the user on this machine
//	[Incoming.WriteBundle], [Incoming.WritePatch]  the work as files, if it was refused
//
// [Host.Create] makes the sample repository of the demonstration. [Origin] and
// [CheckoutAround] say where the user's own checkout came from; they only read its files.
//
// # Git LFS
//
// With [Source].LFS, Fetch also downloads the objects of the files in Git LFS that the base
// needs, and [Store.Objects] the objects that other commits of the remote need. Commits of an
// agent never cause a download. Populate copies the objects into the new .git, and a filter
// there, a shell script, puts them into the work tree and turns files into pointers; it runs
// inside the sandbox alone (lfs_filter.sh).
//
// The harvest has pointers. [Host.ObjectsCommand] returns the command that prints the new
// objects, again inside the sandbox, and [Incoming.TakeObjects] takes them into the
// quarantine and compares each with its pointer. [Incoming.UploadObjects] brings them to
// the remote, which has to happen before the push.
//
// # Files over references
//
// [Host.FileRefs] opens the references by which small sets of files travel from one machine to
// another where there are no artifacts, such as the plan and the results of a fleet. Each set
// is one commit at a reference below refs/symphony/, which [FileRefs.Push] creates once and
// nobody moves. [FileRefs.List] finds the references of others, [FileRefs.Read] reads their
// files, as hostile input, and [FileRefs.Delete] deletes them. All this happens in a temporary
// repository, apart from the stores.
//
// # Invariants
//
// One function starts git (engine.start): with an environment made from nothing, an
// explicit repository, a process group that is killed with everything in it when the
// context ends, and limits of time, memory and output. It refuses a folder below the
// root of the workspaces. Hooks, garbage collection in the background, redirects,
// replace references, lazy fetches, helpers for credentials and every protocol except
// the remote's own are off.
//
// Submodules are fetched by the host, each into a store of its own, and never by a git
// that reads .gitmodules itself. Where they come from is decided by the base branch; see
// [Store.Submodules].
//
// The token of a remote is in the environment of the commands that talk to it, and
// nowhere else: in no argument, URL, file or error.
//
// Names of branches and ids of objects are types that hold only valid values, so none
// of them can be an option, a pattern or a path. Only repositories of SHA-1 are
// supported; others are refused by name.
//
// The agent's work is read with limits that are checked before any memory is
// spent: the pack's own headers before git sees the pack (see pack.go), the tree walk
// by the number of trees and paths, the harvest by the number of files and folders of its
// commit, and every git that touches it by processor time and
// 512 MB of memory. Every line that git index-pack prints is a refusal. Git older than
// 2.46 does not check the bundles that it fetches, and newer ones not as strictly: so
// the work is not taken as a bundle.
//
// A commit of the host is made of trees that are written here, along the paths that
// change, and is then read back by git and compared with the allowed changes. git's index
// would ignore a path it does not like, and push files aside, without an error.
//
// Incoming work never enters the store. Pushed work comes back with the next
// fetch; refused work is gone with its quarantine. So the store holds nothing that
// the remote does not have, and can be deleted at any time.
//
// # Supported versions
//
// git 2.31 or newer (tested with 2.34, 2.39, 2.47 and 2.55), on systems with process groups
// and flock. Memory is not limited where the system has no such limit, as on macOS. [Checkout]
// with Paths needs git 2.36. Submodules come without their history, and files in Git LFS in
// them as pointers. In a repository whose history is cut, the merge base is looked for in the
// commits that are there.
package git
