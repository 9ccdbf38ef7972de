package publish

import (
	"context"
	"fmt"

	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/workspace/git"
)

// judgeHistory adds to the verdict the changes in the commits in between that the settings do
// not allow. These commits are published too if the agent's own history is. Each is judged as
// if the work ended with it.
func (p *Publisher) judgeHistory(ctx context.Context, in *git.Incoming, onto git.ObjectID, links []delivery.Link, v *delivery.Verdict) error {
	known := map[delivery.Refusal]bool{}
	for _, r := range v.Refusals {
		known[r] = true
	}
	for _, commit := range in.Commits {
		if commit == in.Tip {
			continue
		}
		at, err := p.judgeCommit(ctx, in, onto, commit, links)
		if err != nil {
			return err
		}
		for _, r := range at.Refusals {
			if known[r] {
				continue
			}
			known[r] = true
			r.Reason = fmt.Sprintf("in the commit %.12s, which is published too: %s; rewrite the commits, so that none has it", commit, r.Reason)
			v.Refusals = append(v.Refusals, r)
		}
		v.Draft = v.Draft || at.Draft
		for _, path := range at.Review {
			v.AddReview(path)
		}
	}
	var bytes int64
	for _, object := range in.Objects {
		if object.Type == "blob" {
			bytes += object.Size
		}
	}
	if bytes > p.Policy.MaxBytes && len(in.Commits) > 1 {
		v.Refusals = append(v.Refusals, delivery.Refusal{Reason: fmt.Sprintf("the new files in all commits together have %d bytes, and delivery.max_bytes is %d; squash the commits, and leave out what is generated", bytes, p.Policy.MaxBytes)})
	}
	return nil
}

// judgeCommit returns the verdict on the work up to a commit, without the changes that a branch
// at onto has.
func (p *Publisher) judgeCommit(ctx context.Context, in *git.Incoming, onto, commit git.ObjectID, links []delivery.Link) (delivery.Verdict, error) {
	base, err := in.MergeBaseOf(ctx, commit)
	switch {
	case err != nil:
		return delivery.Verdict{}, err
	case base.IsZero():
		return delivery.Verdict{Refusals: []delivery.Refusal{{Reason: fmt.Sprintf("it has no commit in common with %s", in.Base)}}}, nil
	}
	changed, err := in.Changes(ctx, base, commit)
	if err == nil {
		changed, err = since(ctx, in, onto, commit, changed)
	}
	if err != nil {
		return delivery.Verdict{}, err
	}
	work, _, err := workAt(ctx, in, commit, changed, links)
	return p.Policy.Check(work), err
}
