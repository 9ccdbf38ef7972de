package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// findMergeBase finds where the work and the base have separated.
func (in *Incoming) findMergeBase(ctx context.Context) (err error) {
	in.MergeBase, err = in.MergeBaseOf(ctx, in.Tip)
	if err == nil && in.MergeBase.IsZero() {
		err = refuse("its history has no commit in common with %s%s; start again from origin/%[1]s", in.Base, in.cutHistory())
	}
	return err
}

// MergeBaseOf returns the commit at which a commit of the work and the base have separated;
// zero if they have nothing in common.
func (in *Incoming) MergeBaseOf(ctx context.Context, commit ObjectID) (ObjectID, error) {
	base := in.Base.tracking()
	if !in.newBase.IsZero() {
		base = in.newBase.String()
	}
	p, out, err := in.store.host.output(ctx, in.confined("merge-base", commit.String(), base))
	var exit *exitError
	switch {
	case errors.As(err, &exit) && exit.code == 1 && p.errorText() == "":
		return ObjectID{}, nil
	case err != nil:
		return ObjectID{}, fmt.Errorf("take the agent's work: %w", err)
	}
	return ParseObjectID(strings.TrimSpace(string(out)))
}

// checkMergeBase refuses work on an older base than the session's: a file that the base has
// dropped since then, such as a dangerous workflow, would be back on the branch, and no change
// of the work would show it.
func (in *Incoming) checkMergeBase(ctx context.Context) error {
	began, err := in.MergeBaseOf(ctx, in.Start)
	if err != nil || began.IsZero() || began == in.MergeBase {
		return err
	}
	p, _, err := in.store.host.output(ctx, in.confined("merge-base", "--is-ancestor", began.String(), in.MergeBase.String()))
	var exit *exitError
	switch {
	case errors.As(err, &exit) && exit.code == 1 && p.errorText() == "":
		return refuse("it does not contain the commit %.12s of %s, on which the session began%s; start again from origin/%[2]s", began, in.Base, in.cutHistory())
	case err != nil:
		return fmt.Errorf("take the agent's work: %w", err)
	}
	return nil
}

// cutHistory returns the part of an error text that says that the history of the remote
// is cut, or "".
func (q *quarantine) cutHistory() string {
	if shallow, err := readShallow(q.dir); err == nil && shallow != "" {
		return ", as far as the remote, which is shallow, has it"
	}
	return ""
}
