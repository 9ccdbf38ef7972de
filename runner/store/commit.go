package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// Save commits the state on top of the revision. It fails with [ErrConflict]
// when the branch has moved on, with [ErrInvalid] when s cannot be kept, and
// with [ErrRefused] and [ErrUnavailable]. When s says nothing new, nothing is
// committed: tokens and signs of life go with the next change (see record.news).
// The last step is not cut short by ctx.
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
	next := newRecord(s, nextGeneration(b.kept.Generation))
	data, err := Encode(s, next.Generation)
	if err != nil {
		return err
	}
	if !next.news(b.kept) {
		return nil
	}
	if err := b.mayBeOurs(ctx); err != nil {
		return err
	}
	files := map[string]string{stateFile: string(data)}
	if b.page != nil {
		files[pageFile] = b.page(s, time.Now())
	}
	message := b.message(b.kept.state(), s)
	commit, err := b.commit(ctx, files, message)
	if isRefusal(err) {
		return b.judge(ctx, err)
	}
	if err != nil {
		return err
	}
	b.know(commit, next)
	return nil
}

// CheckWrite asks GitHub for a tree that nothing will refer to, as only a token
// that may write contents can. Neither the branch nor this Branch changes. It
// follows a Load, and fails with [ErrRefused] and [ErrUnavailable].
func (b *Branch) CheckWrite(ctx context.Context) error {
	_, err := b.writeTree(ctx, map[string]string{pageFile: ""})
	if isRefusal(err) {
		err = b.judge(ctx, err)
	}
	if err == nil || errors.Is(err, ErrConflict) { // another run could write
		return nil
	}
	return fmt.Errorf("check the access to %s: %w", b, err)
}

// commit makes a commit of the files, on top of the head, and moves the branch to
// it.
func (b *Branch) commit(ctx context.Context, files map[string]string, message string) (string, error) {
	tree, err := b.writeTree(ctx, files)
	if err != nil {
		return "", err
	}
	var parents []*github.Commit
	if b.head != "" {
		parents = append(parents, &github.Commit{SHA: &b.head})
	}
	made, _, err := b.api.createCommit(ctx, b.api.owner, b.api.name, &github.Commit{Message: &message, Tree: tree, Parents: parents}, nil)
	commit, err := b.api.object(ctx, "make a commit", made.GetSHA(), err)
	if err != nil {
		return "", err
	}
	return commit, b.publish(ctx, commit)
}

// writeTree makes the tree of the files on top of the head's own, to learn what
// else is there: a branch that holds anything else is not ours to write to.
func (b *Branch) writeTree(ctx context.Context, files map[string]string) (*github.Tree, error) {
	var entries []*github.TreeEntry
	for path, content := range files {
		entries = append(entries, &github.TreeEntry{Path: &path, Mode: github.String("100644"), Type: github.String("blob"), Content: &content})
	}
	tree, _, err := b.api.createTree(ctx, b.api.owner, b.api.name, b.head, entries)
	if _, err := b.api.object(ctx, "make a tree", tree.GetSHA(), err); err != nil {
		return nil, err
	}
	for _, e := range tree.Entries {
		if e.GetPath() != stateFile && e.GetPath() != pageFile {
			return nil, fmt.Errorf("%w: the branch also holds %q, so it is not a state branch: nothing was changed: give the name of another branch, or of none",
				ErrRefused, line(e.GetPath(), maxName))
		}
	}
	return tree, nil
}

// judge says what a refusal means: a conflict, if the branch has moved.
func (b *Branch) judge(ctx context.Context, err error) error {
	if head, headErr := b.readHead(ctx); headErr == nil && head != b.head {
		return fmt.Errorf("%w: another run has saved, or somebody moved the branch: load it again", ErrConflict)
	}
	r, _ := errors.AsType[*refusal](err)
	if r.status != http.StatusForbidden {
		return err
	}
	if repo, repoErr := b.api.repository(ctx); repoErr == nil && repo.GetArchived() {
		r.mend = "the repository is archived: unarchive it, or keep the state elsewhere"
	}
	return err
}
