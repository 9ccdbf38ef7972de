package attempt

import (
	"context"
	"io"

	"github.com/symphony-runner/symphony/workspace/git"
)

// LFS says that files in Git LFS have their contents in the workspace, and bounds what is
// taken from it.
type LFS struct {
	MaxBytes int64 // of all new objects; of work that has more, none is taken
	History  bool  // whether those of all commits are taken, or those of the latest alone
}

// objects returns the objects of Git LFS that the workspace needs: of the base, which the
// agent may merge, and of the commit where the work begins. It returns nil if the
// workspace gets none.
func (a *attempt) objects(ctx context.Context) (*git.Objects, error) {
	r := a.Repository
	if r.LFS == nil {
		return nil, nil
	}
	return r.Store.Objects(ctx, r.Checkout.Paths, r.Checkout.BaseHead, a.from().Start)
}

// takeObjects takes the new objects of Git LFS of the work from the workspace, as the
// work itself was taken. The policy refuses work with missing objects.
func (a *attempt) takeObjects(ctx context.Context, in *git.Incoming) error {
	wanted, total, err := a.wantedObjects(ctx, in)
	if err != nil || len(wanted) == 0 {
		return err
	}
	return a.stream(ctx, a.Repository.Host.ObjectsCommand(wanted), int(total)+len(wanted), func(r io.Reader) error {
		return in.TakeObjects(r, wanted)
	})
}

// wantedObjects returns the objects of Git LFS to take with the work, and how many bytes
// they have: none of work that has more than the limit.
func (a *attempt) wantedObjects(ctx context.Context, in *git.Incoming) (wanted []git.NewObject, total int64, err error) {
	lfs := a.Repository.LFS
	if lfs == nil {
		return nil, 0, nil
	}
	if wanted, err = in.NewObjects(ctx, lfs.History); err != nil {
		return nil, 0, err
	}
	for _, o := range wanted {
		total += o.Size
		if o.Size > lfs.MaxBytes || total > lfs.MaxBytes {
			return nil, 0, nil
		}
	}
	return wanted, total, nil
}
