package trackertest

import (
	"context"
	"sync/atomic"
)

// fuse is a context that is cancelled when it has been looked at a number of
// times: a way to cancel in the middle of work that is over in a moment.
type fuse struct {
	context.Context
	cancel context.CancelFunc
	looks  atomic.Int64
}

func newFuse(parent context.Context, looks int) *fuse {
	ctx, cancel := context.WithCancel(parent)
	f := &fuse{Context: ctx, cancel: cancel}
	f.looks.Store(int64(looks))
	return f
}

func (f *fuse) Err() error {
	f.look()
	return f.Context.Err()
}

func (f *fuse) Done() <-chan struct{} {
	f.look()
	return f.Context.Done()
}

func (f *fuse) look() {
	if f.looks.Add(-1) == 0 {
		f.cancel()
	}
}
