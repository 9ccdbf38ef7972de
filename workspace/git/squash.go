package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Commit holds the content of a commit, apart from its tree and parents.
type Commit struct {
	Author, Committer Person
	Message           string
}

// Squash makes one commit from changes that [Incoming.Changes] found between the merge base and
// the tip, all or some of them. The commit has nothing else of the agent: no message, author,
// or state in between. onto is the commit of the remote's branch, or the zero id if it has
// none; the new commit follows it, and the merge base as well if the agent merged a newer base.
// The same arguments give the same id.
//
// The error is [ErrNothingNew] if the commit would change nothing, and a [*Refusal] for
// changes that the agent did not make or that cannot be made without the others.
func (in *Incoming) Squash(ctx context.Context, allowed []Change, onto ObjectID, c Commit) (ObjectID, error) {
	found, err := in.Changes(ctx, in.MergeBase, in.Tip)
	if err != nil {
		return ObjectID{}, err
	}
	for _, change := range allowed {
		if i, ok := slices.BinarySearchFunc(found, change.Path, func(f Change, path string) int { return strings.Compare(f.Path, path) }); !ok || found[i] != change {
			return ObjectID{}, refuse("the change of %q is not part of the work", sanitize(change.Path))
		}
	}
	parents, err := in.parents(ctx, onto)
	if err != nil {
		return ObjectID{}, err
	}
	tree, err := in.buildTree(ctx, allowed, parents)
	if err != nil {
		return ObjectID{}, err
	}
	made, err := in.Changes(ctx, in.MergeBase, tree)
	if err != nil {
		return ObjectID{}, err
	}
	allowed = slices.SortedStableFunc(slices.Values(allowed), func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	if !slices.Equal(made, allowed) {
		return ObjectID{}, fmt.Errorf("squash: the tree %s has %d changes, not the %d that are allowed", tree, len(made), len(allowed))
	}
	return in.writeCommit(tree, parents, c)
}

func (q *quarantine) writeCommit(tree ObjectID, parents []ObjectID, c Commit) (ObjectID, error) {
	text, err := c.text()
	if err != nil {
		return ObjectID{}, fmt.Errorf("squash: %w", err)
	}
	var head strings.Builder
	fmt.Fprintf(&head, "tree %s\n", tree)
	for _, parent := range parents {
		fmt.Fprintf(&head, "parent %s\n", parent)
	}
	return q.write("commit", []byte(head.String()+text))
}

// buildTree returns the tree of the merge base with changes. The error is
// [ErrNothingNew] if the only parent has that tree.
func (in *Incoming) buildTree(ctx context.Context, changes []Change, parents []ObjectID) (ObjectID, error) {
	tree, old, err := in.editTree(ctx, in.MergeBase, changes, parents[0])
	if err == nil && len(parents) == 1 && old == tree {
		err = ErrNothingNew
	}
	if err != nil {
		return ObjectID{}, fmt.Errorf("squash: %w", err)
	}
	return tree, nil
}

// editTree returns the tree of a commit with changes, and the tree of another commit to
// compare it with.
func (q *quarantine) editTree(ctx context.Context, commit ObjectID, changes []Change, other ObjectID) (tree, otherTree ObjectID, err error) {
	err = q.store.host.readTrees(ctx, q.confined(), func(w *treeWalk) (err error) {
		e := treeEdit{q.dir, w}
		if tree, err = e.apply(commit.String()+"^{tree}", changes, 0); err == nil && tree.IsZero() {
			tree, err = q.write("tree", nil)
		}
		var old Object
		if err == nil {
			old, err = w.objects.ask(other.String() + "^{tree}")
		}
		if err == nil {
			_, err = w.objects.contents(old, w.limits.object)
		}
		otherTree = old.ID
		return err
	})
	return tree, otherTree, err
}

// parents returns the parents of a commit that follows both onto and the merge base.
func (in *Incoming) parents(ctx context.Context, onto ObjectID) ([]ObjectID, error) {
	if onto.IsZero() || onto == in.MergeBase {
		return []ObjectID{in.MergeBase}, nil
	}
	out, err := in.run(ctx, in.confined("merge-base", "--independent", onto.String(), in.MergeBase.String()))
	if err != nil {
		return nil, err
	}
	var parents []ObjectID
	for _, id := range []ObjectID{onto, in.MergeBase} {
		if slices.Contains(strings.Fields(out), id.String()) {
			parents = append(parents, id)
		}
	}
	if len(parents) == 0 {
		return nil, errors.New("squash: git merge-base names no parent")
	}
	return parents, nil
}

// TreeAndParents returns the tree and the parents of a commit.
func (q *quarantine) TreeAndParents(ctx context.Context, commit ObjectID) (tree ObjectID, parents []ObjectID, err error) {
	out, err := q.run(ctx, q.confined("rev-parse", commit.String()+"^{tree}", commit.String()+"^@"))
	if err != nil {
		return ObjectID{}, nil, err
	}
	var ids []ObjectID
	for line := range strings.Lines(out) {
		id, err := ParseObjectID(strings.TrimSpace(line))
		if err != nil {
			return ObjectID{}, nil, err
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return ObjectID{}, nil, errors.New("git rev-parse names no tree")
	}
	return ids[0], ids[1:], nil
}

// check returns an error if git would not write the person as it is.
func (p Person) check() error {
	switch {
	case strings.TrimSpace(p.Name) == "" || strings.TrimSpace(p.Email) == "":
		return errors.New("an author or committer has no name or no address")
	case !utf8.ValidString(p.Name+p.Email) || strings.ContainsAny(p.Name+p.Email, "<>\n\r\x00"):
		return fmt.Errorf("an author or committer has a character that a commit cannot have: %q <%q>", p.Name, p.Email)
	case p.Name != strings.TrimSpace(p.Name) || p.Email != strings.TrimSpace(p.Email):
		return fmt.Errorf("an author or committer begins or ends with a space: %q <%q>", p.Name, p.Email)
	case p.When.Unix() < 0:
		return errors.New("an author or committer has no time")
	}
	return nil
}

// text returns the part of a commit object after the parents.
func (c Commit) text() (string, error) {
	message := strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(c.Message, "\r\n", "\n"), "\uFFFD"))
	if message == "" || strings.ContainsRune(message, 0) {
		return "", errors.New("the message is empty or has a NUL")
	}
	if err := errors.Join(c.Author.check(), c.Committer.check()); err != nil {
		return "", err
	}
	return fmt.Sprintf("author %s\ncommitter %s\n\n%s\n", c.Author.line(), c.Committer.line(), message), nil
}

func (p Person) line() string { return fmt.Sprintf("%s <%s> %d +0000", p.Name, p.Email, p.When.Unix()) }
