package workspace

import "context"

// Reclaim kills what an earlier run of ours, which was itself killed, left
// running in the issue's workspace. [Root.Prepare] does so too; this is for an
// issue that will not be worked on again. The error is [ErrBusy].
func (r *Root) Reclaim(ctx context.Context, issue Issue) error {
	return r.reclaim(ctx, r.workspace(issue))
}
