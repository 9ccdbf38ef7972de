package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// outRef is the reference to the commit that leaves a quarantine.
const outRef = "refs/heads/out"

// WriteBundle writes the work as a file that git can fetch from: a commit and the objects that
// the merge base does not have. It is for refused work, and may hold anything the agent made.
func (in *Incoming) WriteBundle(ctx context.Context, w io.Writer, commit ObjectID) error {
	if err := in.show(ctx, commit); err != nil {
		return err
	}
	c := in.confined("bundle", "create", "--quiet", "-", outRef, "^"+in.MergeBase.String())
	c.stdout = w
	if _, err := in.run(ctx, c); err != nil {
		return fmt.Errorf("write a bundle of the work: %w", err)
	}
	return nil
}

// WritePatch writes the difference between the merge base and a commit as a file for
// git apply. Like a bundle it may hold anything.
func (in *Incoming) WritePatch(ctx context.Context, w io.Writer, commit ObjectID) error {
	c := in.confined("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--binary", "--full-index", in.MergeBase.String(), commit.String())
	c.stdout = w
	if _, err := in.run(ctx, c); err != nil {
		return fmt.Errorf("write a patch of the work: %w", err)
	}
	return nil
}

// show makes a commit a branch of the quarantine, for commands that want one.
func (q *quarantine) show(ctx context.Context, commit ObjectID) error {
	_, err := q.run(ctx, q.confined("update-ref", outRef, commit.String()))
	return err
}

// DeliverLocal makes a commit the head of a branch in a repository of the user on this machine.
// No work tree, index or other branch of it changes, and no hook of it runs. old is the present
// commit of the branch, as far as the caller knows; the zero id says that the repository must
// not have it. A delivery that has already happened is not an error.
//
// The error is [ErrMoved] if the branch is somewhere else, is checked out, or the commit
// does not follow it, and [ErrRejected] if another branch is in its way: deliver to
// another name.
func (in *Incoming) DeliverLocal(ctx context.Context, repository string, to Branch, commit, old ObjectID) error {
	if to.IsZero() || commit.IsZero() {
		return errors.New("deliver to a local branch: the branch or the commit is missing")
	}
	if err := in.show(ctx, commit); err != nil {
		return err
	}
	h := in.store.host
	out, err := h.run(ctx, command{dir: repository, args: []string{"rev-parse", "--absolute-git-dir"}})
	if err != nil {
		return fmt.Errorf("deliver to %s in %s: %w: it is not a repository, or belongs to another user: %w", to, repository, ErrFolder, err)
	}
	gitDir := strings.TrimSuffix(string(out), "\n")
	switch now, err := in.store.localHead(ctx, repository, gitDir, to); {
	case err != nil:
		return fmt.Errorf("deliver to %s in %s: %w", to, repository, err)
	case now == commit:
		return nil
	case now != old:
		return fmt.Errorf("deliver to %s in %s: %w: it is at %s, not at %s", to, repository, ErrMoved, display(now), display(old))
	}
	// git before 2.35 does not look at linked work trees by itself.
	out, err = h.run(ctx, command{dir: repository, repository: gitDir, args: []string{"worktree", "list", "--porcelain"}})
	if err != nil {
		return fmt.Errorf("deliver to %s in %s: %w", to, repository, err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.TrimSuffix(line, "\n") == "branch "+to.ref() {
			return fmt.Errorf("deliver to %s in %s: %w: it is checked out there", to, repository, ErrMoved)
		}
	}
	quarantine := fileRemote(in.dir)
	_, err = h.run(ctx, command{
		dir: repository, repository: gitDir, remote: &quarantine, bare: []string{in.dir},
		args: []string{
			"fetch", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--recurse-submodules=no",
			"--", quarantine.url, outRef + ":" + to.ref(),
		},
	})
	var exit *exitError
	if !errors.As(err, &exit) {
		return err
	}
	if f, known := failureIn(localRefusals, exit.stderr); known {
		return fmt.Errorf("deliver to %s in %s: %w: %s: %w", to, repository, f.kind, f.advice, err)
	}
	return fmt.Errorf("deliver to %s in %s: %w", to, repository, err)
}

// localHead returns the commit of a branch of the user, zero if the branch does not
// exist.
func (b *bareRepository) localHead(ctx context.Context, repository, gitDir string, branch Branch) (ObjectID, error) {
	out, err := b.host.run(ctx, command{
		dir: repository, repository: gitDir, args: []string{"for-each-ref", "--format=%(objectname) %(refname)", branch.ref()},
	})
	if err != nil {
		return ObjectID{}, err
	}
	for line := range strings.Lines(string(out)) {
		if id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); name == branch.ref() {
			return ParseObjectID(id)
		}
	}
	return ObjectID{}, nil
}

// localRefusals holds git's words for why a branch of the user cannot be moved.
var localRefusals = []failure{
	{[]string{"checked out at"}, ErrMoved, "it is checked out there"},
	{[]string{"(non-fast-forward)"}, ErrMoved, "it has commits that the work does not have"},
	{[]string{"cannot lock ref", "unable to update local ref"}, ErrRejected, "another branch has the name of a folder of this one, or the reverse"},
	{[]string{"shallow"}, ErrRejected, "the history of one of the two repositories is cut"},
}
