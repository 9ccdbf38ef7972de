package publish

import (
	"context"
	"time"

	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// continueAfterMerge prepares the next pull request of an issue whose latest one was
// merged, and returns the changes for it: those that are not merged already. A merge that
// makes new commits, as a squash does, would show the merged ones again. If the store has
// not fetched the merge, or the base has other changes of the same files, all changes are
// shown. If nothing is new, the Result reports the merged pull request.
func (p *Publisher) continueAfterMerge(ctx context.Context, w Work, r *Result, merged *client.PullRequest, changes []git.Change, now time.Time) ([]git.Change, error) {
	head, err1 := git.ParseObjectID(merged.GetHead().GetSHA())
	landed, err2 := git.ParseObjectID(merged.GetMergeCommitSHA())
	if err1 != nil || err2 != nil {
		return changes, nil
	}
	follows, err := w.Incoming.Follows(ctx, head)
	if err != nil || !follows {
		return changes, err
	}
	since, err := w.Incoming.Changes(ctx, head, w.Incoming.Tip)
	if err != nil {
		return nil, err
	}
	if len(since) > 0 && p.KeepHistory {
		return changes, nil
	}
	author := p.Author
	author.When = now
	rebased, err := w.Incoming.Rebase(ctx, head, landed, git.Commit{Author: author, Committer: author, Message: "Work on " + w.Issue})
	if err != nil {
		return nil, err
	}
	if rebased {
		changes, err = p.check(ctx, w, r)
	}
	if err == nil && len(r.Verdict.Refusals) == 0 && (len(since) == 0 || len(changes) == 0) {
		r.report(PullUnchanged, merged)
		r.Record.Pushing = git.ObjectID{}
		if !w.RemoteHead.IsZero() {
			r.Record.Head = w.RemoteHead
		}
	}
	return changes, err
}
