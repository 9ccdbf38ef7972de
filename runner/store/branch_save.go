package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/internal/bounds"
	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// Save commits the state on top of the revision. It fails with [ErrConflict] when
// the branch has moved, with [ErrInvalid] when s cannot be encoded, and with
// [ErrRefused] and [ErrUnavailable]. It commits nothing if s does not materially
// differ from the revision: token counts and heartbeats go with the next change.
// Canceling ctx does not interrupt the last step, the move of the branch.
func (b *Branch) Save(ctx context.Context, s *schedule.State, rev Revision) (Revision, error) {
	if err := b.save(ctx, s, rev); err != nil {
		return "", fmt.Errorf("save state to %s: %w", b, err)
	}
	return b.rev, nil
}

func (b *Branch) save(ctx context.Context, s *schedule.State, rev Revision) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if rev == "" || rev != b.rev {
		return fmt.Errorf("%w: it is not what was loaded last: load it again", ErrConflict)
	}
	next := newRecord(s, nextGeneration(b.headRecord.Generation))
	data, err := Encode(s, next.Generation)
	if err != nil {
		return err
	}
	if !next.materiallyDiffers(b.headRecord) {
		return nil
	}
	if err := b.rejectDefaultBranch(ctx); err != nil {
		return err
	}
	files := map[string]string{stateFile: string(data)}
	if b.page != nil {
		files[pageFile] = b.page(s, time.Now())
	}
	commit, err := b.commitFiles(ctx, files, commitMessage(b.headRecord.toState(), s))
	if refusal(err) != nil {
		return b.classifyRefusal(ctx, err)
	}
	if err != nil {
		return err
	}
	b.setHead(commit, next)
	return nil
}

// CheckWrite checks that the token may write contents: it creates a tree that
// nothing refers to. Neither the branch nor b changes. Call it after a Load. It
// fails with [ErrRefused] and [ErrUnavailable].
func (b *Branch) CheckWrite(ctx context.Context) error {
	_, err := b.createTree(ctx, map[string]string{pageFile: ""})
	if refusal(err) != nil {
		err = b.classifyRefusal(ctx, err)
	}
	if err == nil || errors.Is(err, ErrConflict) { // another run could write
		return nil
	}
	return fmt.Errorf("check the access to %s: %w", b, err)
}

// commitFiles commits the files on top of the head and moves the branch to the
// commit, which it returns.
func (b *Branch) commitFiles(ctx context.Context, files map[string]string, message string) (string, error) {
	tree, err := b.createTree(ctx, files)
	if err != nil {
		return "", err
	}
	var parents []string
	if b.head != "" {
		parents = append(parents, b.head)
	}
	commit, err := b.client.Git.CreateCommit(ctx, message, tree, parents...)
	if err != nil {
		return "", failed("make a commit", err)
	}
	return commit, b.moveBranch(ctx, commit)
}

// createTree creates a tree with the files on top of the head's tree. The answer then lists all
// other files of the branch: createTree refuses a branch that has any, because it is not a
// state branch.
func (b *Branch) createTree(ctx context.Context, files map[string]string) (string, error) {
	tree, paths, err := b.client.Git.CreateTree(ctx, b.head, files)
	if err != nil {
		return "", failed("make a tree", err)
	}
	for _, path := range paths {
		if path != stateFile && path != pageFile {
			return "", fmt.Errorf("%w: the branch also holds %q, so it is not a state branch: nothing was changed: give the name of another branch, or of none",
				ErrRefused, bounds.Line(path, maxName))
		}
	}
	return tree, nil
}

// classifyRefusal returns [ErrConflict] in place of GitHub's refusal if the branch
// has moved; otherwise it returns err, with a better remedy if it finds one.
func (b *Branch) classifyRefusal(ctx context.Context, err error) error {
	if head, headErr := b.readHead(ctx); headErr == nil && head != b.head {
		return fmt.Errorf("%w: another run has saved, or somebody moved the branch: load it again", ErrConflict)
	}
	r := refusal(err)
	if r.Answer.Status != http.StatusForbidden {
		return err
	}
	if repo, repoErr := b.readRepository(ctx); repoErr == nil && repo.GetArchived() {
		r.Remedy = "the repository is archived: unarchive it, or keep the state elsewhere"
	}
	return err
}

// moveTimeout bounds the last step of a save, which ignores the caller's context.
const moveTimeout = 10 * time.Second

// moveBranch moves the branch from the head to the commit. When an answer is
// lost, it reads the branch to find out whether the move took place.
func (b *Branch) moveBranch(ctx context.Context, commit string) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), moveTimeout, fmt.Errorf("no answer within %v", moveTimeout))
	defer cancel()
	for try := 1; ; try++ {
		err := b.tryMove(ctx, commit)
		if e, ok := errors.AsType[*transport.Error](err); !ok || !e.InDoubt() {
			return err
		}
		landed, askErr := b.landed(ctx, commit)
		switch {
		case askErr != nil:
			return fmt.Errorf("it is not known whether the state was saved: %w", err)
		case landed:
			return nil
		case try == transport.Tries || b.client.Transport.Backoff(ctx, try) != nil:
			return err
		}
	}
}

// tryMove sends the request for the move once. The request fails if the branch is
// no longer at the head; GitHub checks that and moves the branch in one step:
//
//   - it creates a branch only if there is none;
//   - it refuses an update without force unless the branch is at an ancestor of
//     the commit, whose only parent is the head.
func (b *Branch) tryMove(ctx context.Context, commit string) error {
	move := b.client.Git.UpdateRef
	if b.head == "" {
		move = b.client.Git.CreateRef
	}
	err := move(ctx, b.ref(), commit)
	if client.HasStatus(err, http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity) {
		// The token could make the commit, so it does not lack the permission.
		refusal(err).Remedy = "a rule protects the branch, or there is one with a part of its name: let the token past the rule (Settings, Rules), or give another name"
	}
	return failed("move the branch", err)
}

// landed reports whether the branch is at the commit or was: another run may
// already have saved on top of it.
func (b *Branch) landed(ctx context.Context, commit string) (bool, error) {
	head, err := b.readHead(ctx)
	if err != nil || head == commit || head == b.head {
		return head == commit, err
	}
	commits, err := b.client.Git.History(ctx, head)
	return slices.Contains(commits, commit), failed("read the history", err)
}
