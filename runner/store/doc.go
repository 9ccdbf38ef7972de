// Package store keeps claims at rest: what the specification holds in memory
// (SPEC §4.1.8) outlasts a run here. It decides what the bytes look like and
// when they may be replaced; what the claims mean is decided in package
// schedule. The runner loads the state when a tick begins and saves it before
// every effect.
//
// It is built of two parts. The codec, [Encode] and [Decode], is the same for
// every store. [File] is a store in a local file, for one run at a time. A store
// hands out a [Revision] with each state, and saves only over that revision:
// whoever meets a state he has not seen loads and plans again.
//
// # What holds
//
//   - What cannot be read is never overwritten: an unreadable, damaged or newer
//     state gives no revision to save over.
//   - What is written can be read: Encode refuses what Decode would refuse.
//   - A state is bounded: 8 MiB, 20,000 claims, and a limit for every text.
//   - A state is input, even though a checksum finds damage: whoever can write it
//     can forge it. Nothing in it is ever used as a path or a command.
//   - Nothing is written when nothing has changed.
//   - A kill at any instant leaves the old state or the new one, whole. So does a
//     power cut; and once Save has returned, the new one (as far as the disk
//     keeps its word): the file and then its folder are flushed.
//
// Only one run at a time has a file open: it holds a lock of the operating
// system, which ends with the process. The revision is for those who take no
// lock: a person with an editor, a restored backup, a deleted lock file.
package store
