package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Rebase makes work that continues already merged work into work on the newest base, so that
// only the rest is new. merged is the commit whose content the base has, and landed the commit
// of the base that brought it there; the new tip gets the message and people of c. It reports
// whether the work was changed. The work stays as it is if the base in the store does not
// contain landed, if the work does not follow merged or has it in common with the base, and if
// the base has other changes of the same files: a commit that follows merged must never take
// its content away.
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
	return in.putOn(ctx, base, changes, c)
}

// MoveToBase puts the work on the base as the store has it now: one commit with all that
// differs from the merge base, with the message and people of c, or with history each of
// the agent's commits. It reports whether the work was changed, which it is not if it has
// the newest base already. The error is [ErrMoved] if the base has other changes of the same
// files, or if the history is not a line of commits on the base.
func (in *Incoming) MoveToBase(ctx context.Context, c Commit, history bool) (bool, error) {
	base, err := in.baseHead(ctx)
	if err != nil {
		return false, err
	}
	if has, err := in.hasInHistory(ctx, in.Tip, base); err != nil || has {
		return false, err
	}
	if history {
		return true, in.replay(ctx, base)
	}
	changes, err := in.Changes(ctx, in.MergeBase, in.Tip)
	if err != nil {
		return false, err
	}
	moved, err := in.putOn(ctx, base, changes, c)
	if err == nil && !moved {
		err = in.otherChanges()
	}
	return moved, err
}

func (in *Incoming) otherChanges() error {
	return fmt.Errorf("%w: %s has other changes of the same files since the work began", ErrMoved, in.Base)
}

// replay makes the commits of the work again on another base.
func (in *Incoming) replay(ctx context.Context, base ObjectID) error {
	onto, old := base, in.MergeBase
	var made []ObjectID
	for _, commit := range slices.Backward(in.Commits) {
		_, parents, err := in.TreeAndParents(ctx, commit)
		if err != nil {
			return err
		}
		if len(parents) != 1 || parents[0] != old {
			return fmt.Errorf("%w: %s has moved since the work began, and the commits of the work are not a line", ErrMoved, in.Base)
		}
		changes, err := in.Changes(ctx, old, commit)
		if err != nil {
			return err
		}
		tree, _, err := in.editTree(ctx, onto, changes, onto)
		if errors.Is(err, errConflict) {
			return in.otherChanges()
		}
		var rest string
		if err == nil {
			rest, err = in.peopleAndMessage(ctx, commit)
		}
		if err == nil {
			onto, err = in.write("commit", fmt.Appendf(nil, "tree %s\nparent %s\n%s", tree, onto, rest))
		}
		if err != nil {
			return fmt.Errorf("rebase: %w", err)
		}
		old, made = commit, append(made, onto)
	}
	slices.Reverse(made)
	in.Commits, in.newBase, in.MergeBase, in.Tip, in.work = made, base, base, onto, nil
	return nil
}

// peopleAndMessage returns the lines of a commit that name its author and committer, and the
// rest after them. A signature, which would be wrong for another commit, is left out.
func (q *quarantine) peopleAndMessage(ctx context.Context, commit ObjectID) (string, error) {
	var text []byte
	err := q.ReadObjects(ctx, []ObjectID{commit}, func(_ Object, r io.Reader) (err error) {
		text, err = io.ReadAll(r)
		return err
	})
	head, message, _ := strings.Cut(string(text), "\n\n")
	var rest strings.Builder
	for line := range strings.SplitSeq(head, "\n") {
		if word, _, _ := strings.Cut(line, " "); word == "author" || word == "committer" || word == "encoding" {
			rest.WriteString(line + "\n")
		}
	}
	return rest.String() + "\n" + message, err
}

// putOn makes work that is one commit on a base, with changes. It reports false if the base
// has other changes of the same files.
func (in *Incoming) putOn(ctx context.Context, base ObjectID, changes []Change, c Commit) (bool, error) {
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
	in.newBase, in.MergeBase, in.Tip, in.work = base, base, tip, nil
	return true, nil
}

// Follows reports whether the work has a commit in its history.
func (in *Incoming) Follows(ctx context.Context, commit ObjectID) (bool, error) {
	return in.hasInHistory(ctx, in.Tip, commit)
}

// hasInHistory reports whether a commit follows another one, or is it.
func (q *quarantine) hasInHistory(ctx context.Context, commit, old ObjectID) (bool, error) {
	err := q.follows(ctx, commit, old)
	if errors.Is(err, ErrMoved) {
		return false, nil
	}
	return err == nil, err
}

func (in *Incoming) baseHead(ctx context.Context) (ObjectID, error) {
	refs, err := in.store.refs(ctx)
	return refs[in.Base.tracking()], err
}
