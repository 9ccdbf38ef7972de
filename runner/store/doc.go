// Package store keeps the state between runs: what the specification holds in
// memory (SPEC §4.1.8) must survive the end of a run here. This package decides how
// a state is encoded and when it may be replaced. Package schedule decides what the
// claims in it mean. The runner loads the state when a tick begins, and saves it
// before every effect.
//
// The package has three parts. [Encode] and [Decode] are the same for every store.
// [File] is a store in a local file, for one run at a time, and [Cache] is one in a
// file that actions/cache carries from run to run. [Branch] is a store on a branch
// of a GitHub repository, for any number of runs at once. A store returns a
// [Revision] with each state, and saves only over that revision: a run whose
// revision is out of date loads and plans again.
//
// # Invariants
//
//   - A state that cannot be read is never overwritten: an unreadable, damaged or
//     newer state gives no revision to save over.
//   - What was written can be read: Encode refuses what Decode would refuse.
//   - A state is bounded: 8 MiB, 20,000 claims, 1000 deliveries, and a limit for every
//     text and number. Every state that can be read can also be changed and saved.
//   - A state is untrusted input, see README.md. Nothing in it is used as a path or a
//     command. [schedule.State.BoundTimes], which knows the clock and the policy, bounds
//     the times.
//   - Nothing is written when nothing has changed.
//   - A state does not go back under a run: one that was removed, or replaced by an older
//     one, is refused until the latest is put back. A run that began again from it would
//     start issues on which its own sessions still work.
//   - A kill at any instant leaves the old state or the new one, complete. So does a
//     power cut. After Save has returned, it is the new one, because the file and
//     then its folder are flushed (as far as the disk keeps its promise).
//
// # The file
//
// Only one run at a time has a file open: it holds a lock of the operating system,
// the run lock, which ends with the process. A second lock, the write lock, is held
// for the moments of a write, by runs and by an operator's commands. So an operator
// need not wait for the run to end: an edit is a save by somebody else, which the
// run detects by the revision, as on a branch. The revision also protects against
// changes without any lock: a person with an editor, a restored backup, a deleted
// lock file.
//
// # The cache
//
// A cache can restore an older state than was saved last. A small file in another
// cache entry, the high-water mark, holds the newest generation, so that a run
// notices this. The caller decides what it means for the claims. The next
// generation is above both. Nothing here protects against two runs at once; that
// takes a concurrency group in the workflow.
//
// # The branch
//
// A save is a commit. Its parent is the commit that was loaded, and the branch moves
// to it only by a fast-forward, which GitHub checks and does in one step. So of two
// runs that loaded the same commit one is refused, and no lock is needed. A load
// takes 2 requests (1 if the branch has not moved since the last load), a save 3 (a
// tree with the files in it, a commit, the move), and a save without a material
// change none. The first save of a run takes one more, to make sure that this is not
// the default branch, unless there was no branch, when the load has done that.
//
// The GitHub client makes the requests. What GitHub refuses is an [ErrRefused], and a
// person must change something; a fault, a rate limit and a lost answer are an
// [ErrUnavailable].
//
// A refused move is a conflict if the branch has moved; otherwise a person must act,
// for example on a permission or a rule. When the answer to a move is lost, the
// store reads the branch, so that a save is neither made twice nor reported as lost.
//
// A branch without a state is refused by Load, a branch with other files before it is
// moved, and the default branch before anything is written.
package store
