package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/go-github/v62/github"
)

// publishTime bounds the last step of a save, which a stop does not cut short.
const publishTime = 10 * time.Second

// publish moves the branch from the head to the commit. When an answer is lost,
// the branch is asked whether it moved.
func (b *Branch) publish(ctx context.Context, commit string) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), publishTime, fmt.Errorf("no answer within %v", publishTime))
	defer cancel()
	for try := 1; ; try++ {
		err := b.move(ctx, commit)
		if !errors.Is(err, errUnanswered) {
			return err
		}
		took, askErr := b.took(ctx, commit)
		switch {
		case askErr != nil:
			return fmt.Errorf("it is not known whether the state was saved: %w", err)
		case took:
			return nil
		case try == tries || b.api.wire.wait(ctx, try) != nil:
			return err
		}
	}
}

// move asks for the move once. It fails when the branch is no longer at the
// head, and GitHub decides that and moves it in one step:
//
//   - a branch is created only if there is none;
//   - an update without force is refused unless the branch is at an ancestor of
//     the commit, whose only parent is the head.
func (b *Branch) move(ctx context.Context, commit string) error {
	ref := &github.Reference{Ref: github.String(b.ref()), Object: &github.GitObject{SHA: &commit}}
	var err error
	if b.head == "" {
		_, _, err = b.api.createRef(once(ctx), b.api.owner, b.api.name, ref)
	} else {
		_, _, err = b.api.updateRef(once(ctx), b.api.owner, b.api.name, ref, false)
	}
	err = b.api.explain(ctx, "move the branch", err)
	if r, ok := errors.AsType[*refusal](err); ok && isRefusal(err, http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity) {
		// The token could make the commit, so it is not the permission.
		r.mend = "a rule protects the branch, or there is one with a part of its name: let the token past the rule (Settings, Rules), or give another name"
	}
	return err
}

// took reports whether the branch is at the commit, or was: another run may have
// saved on top of it already.
func (b *Branch) took(ctx context.Context, commit string) (bool, error) {
	head, err := b.readHead(ctx)
	if err != nil || head == commit || head == b.head {
		return head == commit, err
	}
	commits, _, err := b.api.listCommits(ctx, b.api.owner, b.api.name,
		&github.CommitsListOptions{SHA: head, ListOptions: github.ListOptions{PerPage: 100}})
	took := slices.ContainsFunc(commits, func(c *github.RepositoryCommit) bool { return c.GetSHA() == commit })
	return took, b.api.explain(ctx, "read the history", err)
}
