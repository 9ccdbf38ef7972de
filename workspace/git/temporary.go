package git

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// temporaryPrefix is the place on the remote where objects wait until they are part of a
// branch. The remote starts no workflow for it. Below it are folders with the names of
// branches.
const temporaryPrefix = "refs/symphony/push/"

// Temporary is a reference of the remote that keeps objects there until a branch has
// them. Its name is its own.
type Temporary struct {
	store  *bareRepository
	name   string
	commit ObjectID
}

// PushTemporary brings a commit and its objects to the remote without a branch, so that a
// commit that the remote signs can be made from its tree and moved to a branch, which is at old
// now. References that killed runs left for the branch are deleted. It fails with the errors of
// [Incoming.Push]. Delete the reference, whatever happens to the branch.
func (in *Incoming) PushTemporary(ctx context.Context, to Branch, commit, old ObjectID) (Temporary, error) {
	if to.IsZero() || commit.IsZero() {
		return Temporary{}, errors.New("push objects: the branch or the commit is missing")
	}
	fail := func(err error) (Temporary, error) {
		return Temporary{}, fmt.Errorf("push objects for %s to %s: %w", to, in.store.remote, err)
	}
	if !old.IsZero() {
		if err := in.follows(ctx, commit, old); err != nil {
			return fail(err)
		}
	}
	folder := temporaryPrefix + to.name + "/"
	there, err := in.store.list(ctx, to.ref(), folder+"*")
	if err != nil {
		return fail(err)
	}
	now := there.refs[to.ref()]
	if now != old {
		return fail(fmt.Errorf("%w: it is at %s, not at %s: fetch, and bring what is there into the work", ErrMoved, display(now), display(old)))
	}
	delete(there.refs, to.ref())
	in.store.deleteTemporary(ctx, there.refs)
	t := Temporary{in.store.bareRepository, folder + rand.Text(), commit}
	if err := in.store.push(ctx, in.dir, t.name, commit, ObjectID{}); err != nil {
		return fail(err)
	}
	return t, nil
}

// DeleteTemporary deletes the references for a branch that killed runs have left. A reference
// that cannot be deleted is only logged: it does no harm.
func (b *bareRepository) DeleteTemporary(ctx context.Context, to Branch) error {
	there, err := b.list(ctx, temporaryPrefix+to.name+"/*")
	if err != nil {
		return fmt.Errorf("look for temporary references of %s: %w", b.remote, err)
	}
	b.deleteTemporary(ctx, there.refs)
	return nil
}

// deleteTemporary deletes references that killed runs have left.
func (b *bareRepository) deleteTemporary(ctx context.Context, refs map[string]ObjectID) {
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		if err := (Temporary{b, name, refs[name]}).Delete(ctx); err != nil {
			b.host.log.WarnContext(ctx, "what a killed run left on the remote was not deleted", "reference", name, "error", err)
		}
	}
}

// Delete deletes the reference. A missing one is not an error.
func (t Temporary) Delete(ctx context.Context) error {
	if err := t.store.push(ctx, t.store.repository(), t.name, ObjectID{}, t.commit); err != nil {
		return fmt.Errorf("delete the temporary reference %s of %s: %w", t.name, t.store.remote, err)
	}
	return nil
}
