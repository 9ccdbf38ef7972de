package publish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// cleanupTime bounds the deletion of a temporary reference when the run is being ended,
// for which there are a few seconds in all. Tests, which may wait longer for a processor,
// set it before they start.
var cleanupTime = 2 * time.Second

// pushVerified has GitHub make a commit like ours, so that GitHub signs it, and moves
// the branch to that one. Our objects wait on the remote until then.
//
// GitHub's commit has another id. The record never has ours: GitHub's is made before the
// record announces it, when no branch leads to it. So the branch of a killed run is at
// Head or at Pushing, as with any other push.
func (p *Publisher) pushVerified(ctx context.Context, w Work, r *Result, commit git.ObjectID, message string, now time.Time) error {
	temporary, err := w.Incoming.PushTemporary(ctx, w.Branch, commit, w.RemoteHead)
	if err != nil {
		return fmt.Errorf("publish %s: %w", w.Issue, err)
	}
	defer func() {
		if ctx.Err() != nil {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
			defer cancel()
		}
		if err := temporary.Delete(ctx); err != nil {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%v; the next delivery of %s deletes it", err, w.Issue))
		}
	}()
	signed, err := p.sign(ctx, w, r, commit, message)
	if err != nil {
		return fmt.Errorf("publish %s: nothing was pushed: let GitHub make the commit: %w", w.Issue, err)
	}
	r.Record, err = p.move(ctx, w, r.Record, signed, now, func() error { return p.moveBranch(ctx, w, signed) })
	return err
}

// sign has GitHub make a commit with the tree and the parents of ours, and returns its
// id.
func (p *Publisher) sign(ctx context.Context, w Work, r *Result, commit git.ObjectID, message string) (git.ObjectID, error) {
	tree, parents, err := w.Incoming.TreeAndParents(ctx, commit)
	if err != nil {
		return git.ObjectID{}, err
	}
	names := make([]string, len(parents))
	for i, parent := range parents {
		names[i] = parent.String()
	}
	for try := 1; ; try++ {
		made, err := p.GitHub.Git.SignCommit(ctx, message, tree.String(), names...)
		if err == nil {
			if !made.Signed {
				r.Warnings = append(r.Warnings, fmt.Sprintf("GitHub did not sign the commit (%.40q): delivery.commits verified needs the token of a job or of a GitHub App", made.Reason))
			}
			return git.ParseObjectID(made.SHA)
		}
		if try == lookTries || !isUnknown(err) {
			return git.ObjectID{}, hubError(err)
		}
		if err := p.GitHub.Transport.Backoff(ctx, try); err != nil {
			return git.ObjectID{}, err
		}
	}
}

// isUnknown reports whether a part of GitHub does not know a new object yet.
func isUnknown(err error) bool {
	return client.HasStatus(err, http.StatusNotFound, http.StatusConflict) ||
		client.HasStatus(err, http.StatusUnprocessableEntity) && client.Says(err, "does not exist")
}

// moveBranch makes the branch at a commit that GitHub has, or moves it there if that is
// forward. If that has happened already it is not an error.
func (p *Publisher) moveBranch(ctx context.Context, w Work, commit git.ObjectID) error {
	name := "refs/heads/" + w.Branch.String()
	move := p.GitHub.Git.CreateRef
	if !w.RemoteHead.IsZero() {
		move = p.GitHub.Git.UpdateRef
	}
	for try := 1; ; try++ {
		err := move(ctx, name, commit.String())
		switch e, _ := errors.AsType[*transport.Error](err); {
		case err == nil:
			return nil
		case client.Says(err, "update is not a fast forward"):
			return fmt.Errorf("move the branch %s: %w: somebody pushed to it: %w", w.Branch, git.ErrMoved, err)
		case !client.Says(err, "reference already exists") && !isUnknown(err) && (e == nil || !e.InDoubt()):
			return fmt.Errorf("move the branch %s: %w", w.Branch, hubError(err))
		}
		there, lookErr := p.GitHub.Git.Ref(ctx, name)
		switch {
		case there == commit.String():
			return nil
		case lookErr == nil:
			move = p.GitHub.Git.UpdateRef
		case !client.HasStatus(lookErr, http.StatusNotFound):
			return fmt.Errorf("move the branch %s: whether it happened is not known: %w", w.Branch, hubError(lookErr))
		}
		if try == lookTries {
			if lookErr != nil && !w.RemoteHead.IsZero() {
				return fmt.Errorf("move the branch %s: %w: somebody deleted it: %w", w.Branch, git.ErrMoved, err)
			}
			return fmt.Errorf("move the branch %s: %w", w.Branch, hubError(err))
		}
		if err := p.GitHub.Transport.Backoff(ctx, try); err != nil {
			return err
		}
	}
}
