// Package store keeps claims at rest: what the specification holds in memory
// (SPEC §4.1.8) outlasts a run here. It decides what the bytes look like and
// when they may be replaced; what the claims mean is decided in package
// schedule. The runner loads the state when a tick begins and saves it before
// every effect.
//
// It is built of three parts. The codec, [Encode] and [Decode], is the same for
// every store. [File] is a store in a local file, for one run at a time, and
// [Cache] one in a file that actions/cache carries from run to run. [Branch] is a
// store on a branch of a GitHub repository, for any number of runs at once.
// A store hands out a [Revision] with each state, and saves only over that
// revision: whoever meets a state he has not seen loads and plans again. [Runs]
// tells which owners of claims are over, as the workflow runs they are.
//
// # What holds
//
//   - What cannot be read is never overwritten: an unreadable, damaged or newer
//     state gives no revision to save over.
//   - What is written can be read: Encode refuses what Decode would refuse.
//   - A state is bounded: 8 MiB, 20,000 claims, and a limit for every text and
//     number. Every state that can be read can also be changed and saved.
//   - A state is input, even though a checksum finds damage: whoever can write it
//     can forge it. Nothing in it is ever used as a path or a command. Times are
//     bounded by [schedule.State.BoundTimes], which knows the clock and the policy.
//   - Nothing is written when nothing has changed.
//   - A kill at any instant leaves the old state or the new one, whole. So does a
//     power cut; and once Save has returned, the new one (as far as the disk
//     keeps its word): the file and then its folder are flushed.
//
// Only one run at a time has a file open: it holds a lock of the operating
// system, which ends with the process. A second lock is held for the moments of
// a write, by runs and by the commands of an operator, who need not wait for the
// run: an edit is a save by somebody else, which the run finds by its revision,
// as on a branch. The revision is also for those who take no lock: a person with
// an editor, a restored backup, a deleted lock file.
//
// # The cache
//
// What a cache brings can be older than what was saved last. A small file that
// travels in another entry tells the generation seen last, so this is noticed;
// what it means for the claims is for the caller to say. The generation that
// follows is newer than both. There is no safety here against two runs at once:
// that takes a concurrency group in the workflow.
//
// # The branch
//
// A save is a commit: its parent is the commit that was loaded, and the branch
// moves to it only by a fast-forward, which GitHub judges and does in one step.
// So of two runs that loaded the same commit one is refused, and no lock is
// needed. A load takes 2 requests (1 when the
// branch has not moved since the last), a save 3 (a tree with the files in it, a
// commit, the move), and a save without news none. The first save of a run takes
// one more, to learn that this is not the default branch, unless there was no
// branch, when the load has asked for that.
//
// The library go-github makes the requests; what it does not do is done below it,
// in one transport, for stores and [Runs] alike.
//
// A refused move is a conflict if the branch is elsewhere than it was, and else
// the business of a person: a permission, a rule. A move whose answer is lost is
// asked about, so that a save neither counts twice nor is taken for lost.
//
// The branch holds the state, a page for people, and nothing else: one that holds
// no state is refused when it is loaded, one that holds more when it would be
// moved, and the default branch before anything is written. Its history grows by
// a commit with each save. To shorten it, an operator replaces its commit C by
// one without a parent, in a clone:
//
//	git push --force-with-lease=BRANCH:C origin $(git commit-tree -m Shorten C^{tree}):refs/heads/BRANCH
//
// A run that has loaded C then meets a conflict and loads again. To delete the
// branch instead forgets every claim, and the next run begins with none.
package store
