// Package delivery decides which part of an agent's work may leave the machine.
//
// # Story
//
// The host takes the work out of the workspace as objects of a store of its own
// (package workspace/git). The difference from the base branch, by comparison of the
// two trees and not by the agent's history, is a list of [Change]s. [Settings.Check]
// reads that list and returns a [Verdict]: the reasons to refuse the delivery, the paths that a
// person should look at, and whether the pull request is a draft. [Scanner.Check] then reads
// the new content and looks for secrets. Nothing is published unless both agree.
//
// A refusal refuses the whole delivery: half of a change can be worse than none. The
// agent is told every reason, so that it can fix them in its next turn, and the work
// is kept for a person.
//
// # Whom it protects
//
// The agent is hostile. It chooses every path, mode, link and byte. So names are
// compared as the least careful file system would compare them ([fold]), a rename is a
// removed path and an added one, and what Check does not know it refuses.
//
// Everything here is a function of its arguments: no clock, no file, no network.
package delivery
