package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/workspace/git"
)

// Settle finishes the publication of work that an earlier run pushed, when a session has
// nothing new: it opens the pull request that the branch does not have, or updates one that
// does not know of the push, lacks its labels and people, or is a draft although the work is
// done. w has no Incoming, and its Title and Text come from the commit. The Result is
// zero if nothing is published. The errors are [ErrClosed], [ErrNotPermitted], errors of
// GitHub, and [git.ErrStore].
func (p *Publisher) Settle(ctx context.Context, w Work, now time.Time) (Result, error) {
	r, err := p.settle(ctx, w, now)
	return r, p.saveResult(ctx, w, r, err)
}

// settle does the work of Settle, except for the save of its result.
func (p *Publisher) settle(ctx context.Context, w Work, now time.Time) (Result, error) {
	r := Result{Record: w.Last}
	if p.Folder != "" {
		if _, err := os.Lstat(w.Last.URL); err != nil {
			return Result{}, nil
		}
		return r, nil
	}
	switch {
	case w.RemoteHead.IsZero():
		return Result{}, nil
	case w.RemoteHead == w.Last.Pushing:
		r.Record.Head, r.Record.Pushing, r.Record.At = w.RemoteHead, git.ObjectID{}, now
		if p.Verified {
			if err := w.Store.DeleteTemporary(ctx, w.Branch); err != nil {
				r.Warnings = append(r.Warnings, err.Error())
			}
		}
	case w.Last.Head.IsZero(): // the push did not happen, and the branch is a person's
		return Result{}, nil
	}
	if p.GitHub == nil {
		return r, nil
	}
	pulls, err := p.findPullRequest(ctx, w)
	switch {
	case err != nil:
		return r, err
	case pulls.open != nil && isKnown(w, pulls.open) && w.RemoteHead != w.Last.Pushing && !(w.Proven && hasDraftMark(pulls.open.GetBody())):
		r.report(PullUnchanged, pulls.open)
		return r, nil
	case pulls.merged != nil && pulls.merged.GetHead().GetSHA() == w.RemoteHead.String():
		r.report(PullUnchanged, pulls.merged)
		return r, nil
	}
	in, err := w.Store.Published(ctx, w.Base, w.RemoteHead)
	if err != nil {
		return r, fmt.Errorf("publish %s: %w", w.Issue, err)
	}
	defer in.Close()
	if in.MergeBase == w.RemoteHead { // somebody merged the branch
		return r, nil
	}
	w.Incoming = in
	if w.Title, w.Text, err = p.readMessage(ctx, w); err != nil {
		return r, fmt.Errorf("publish %s: %w", w.Issue, err)
	}
	if r.Verdict, err = p.review(ctx, in); err != nil {
		return r, fmt.Errorf("publish %s: %w", w.Issue, err)
	}
	return r, p.proposePullRequest(ctx, w, &r, pulls.open, p.title(w))
}

// readMessage returns the title and the agent's text that the host wrote into the message of
// the commit at the branch. They are empty if commits are the agent's own.
func (p *Publisher) readMessage(ctx context.Context, w Work) (title, text string, err error) {
	if p.KeepHistory {
		return "", "", nil
	}
	err = w.Incoming.ReadObjects(ctx, []git.ObjectID{w.RemoteHead}, func(_ git.Object, r io.Reader) error {
		commit, err := io.ReadAll(r)
		_, message, _ := strings.Cut(string(commit), "\n\n")
		title, text, _ = strings.Cut(message, "\n")
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), w.Closing))
		return err
	})
	return title, text, err
}

// review returns the text of a pull request about work that is published already. The
// verdict refuses nothing: work that would be refused today is shown as a draft.
func (p *Publisher) review(ctx context.Context, in *git.Incoming) (delivery.Verdict, error) {
	_, v, err := p.judge(ctx, in, git.ObjectID{})
	if errors.Is(err, git.ErrRefused) {
		return delivery.Verdict{Draft: true}, nil
	}
	v.Draft = v.Draft || len(v.Refusals) > 0
	v.Refusals = nil
	return v, err
}
