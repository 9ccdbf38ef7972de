// Package publish brings an agent's work from the quarantine of the host to where
// people see it: a branch of the remote and a pull request, a branch of a repository on
// this machine, or a patch.
//
// # Story
//
// [Publisher.Publish] gets the work of one session as a [git.Incoming]. It compares
// trees and asks package delivery whether the work may leave ([Publisher.judge]); refused
// work is kept as files ([Keep]). It makes one commit of the allowed changes, saves a record of
// the push before it, pushes to the one branch of the issue, and opens or updates
// the pull request. [Publisher.Settle] opens the pull request that a run has not opened
// before it ended.
//
// GitHub signs only the commits that it makes itself. With Publisher.Verified our objects
// wait on the remote, at a reference that is not a branch, until GitHub has made a commit
// with the tree, the parents and the message of ours, and the branch is there. That takes
// two requests of the REST API, a look at the remote and a push more than a push of ours
// does: five requests for a new pull request with labels, four for an update.
//
// A repository of the user on this machine gets a branch, without a push: one that is
// checked out, moved by the user or in the way stays as it is, and the work takes the
// next name, symphony/GH-7+2, which the [Record] says. [Locate] finds it in the next
// session.
//
// # Invariants
//
// Names come from the settings and the claim: repository, base and branch are never
// read from the work. A branch only moves forward, and only from where we left it:
// people's commits are brought into the next session and never overwritten.
//
// The decision of a person stands. A pull request that a person closed is not opened again,
// nor another one for its issue. After a merge the next pull request shows the new work alone:
// the work is brought onto the base that has the merge, because a squash or a rebase
// would show the old work again.
//
// Nothing of a person is replaced: no commit, no text of a pull request, no file in the
// folder of the patches.
//
// Publishing may be repeated. A run that was killed anywhere in it, and the run after it, end
// in one branch and one pull request with its labels and people: the commit that the first one
// may have pushed is in the [Record] before it is pushed, a push of the same work changes
// nothing, and a pull request is looked for before one is opened.
//
// The published texts come from strangers and from an agent. They are redacted, and made
// harmless by package defuse.
package publish
