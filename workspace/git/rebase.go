package git

import (
	"context"
	"errors"
	"fmt"
)

// Rebase makes work that continues what is merged already into work on the newest base,
// so that only the rest is new. merged is the commit whose content the base has, and
// landed the commit of the base that brought it there; the message and people of c are
// those of the new tip. It reports whether the work was changed. The work stays as it is
// if the base in the store does not contain landed, if the work does not follow merged or
// has it in common with the base, and if the base has other changes of the same files: a
// commit that follows merged must never take its content away.
func (in *Incoming) Rebase(ctx context.Context, merged, landed ObjectID, c Commit) (bool, error) {
	base, err := in.baseHead(ctx)
	if err != nil {
		return false, err
	}
	for _, check := range []struct {
		commit, old ObjectID
		follows     bool
	}{{base, landed, true}, {in.Tip, merged, true}, {in.MergeBase, merged, false}} {
		if follows, err := in.hasInHistory(ctx, check.commit, check.old); err != nil || follows != check.follows {
			return false, err
		}
	}
	changes, err := in.Changes(ctx, merged, in.Tip)
	if err != nil {
		return false, err
	}
	tree, _, err := in.editTree(ctx, base, changes, base)
	switch {
	case errors.Is(err, errConflict):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("rebase: %w", err)
	}
	tip, err := in.writeCommit(tree, []ObjectID{base}, c)
	if err != nil {
		return false, err
	}
	in.MergeBase, in.Tip, in.work = base, tip, nil
	return true, nil
}

// Follows reports whether the work has a commit in its history.
func (in *Incoming) Follows(ctx context.Context, commit ObjectID) (bool, error) {
	return in.hasInHistory(ctx, in.Tip, commit)
}

// hasInHistory reports whether a commit follows another one, or is it.
func (in *Incoming) hasInHistory(ctx context.Context, commit, old ObjectID) (bool, error) {
	err := in.follows(ctx, commit, old)
	if errors.Is(err, ErrMoved) {
		return false, nil
	}
	return err == nil, err
}

// baseHead returns where the base is, as fetched last.
func (in *Incoming) baseHead(ctx context.Context) (ObjectID, error) {
	refs, err := in.store.refs(ctx)
	return refs[in.Base.tracking()], err
}
