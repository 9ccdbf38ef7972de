package github

import (
	"context"
	"sync"
)

// width is how many requests of one read run at the same time.
const width = 4

// together does the work for each index below n, a few at a time, and gives the
// first error, which ends the rest. It returns when all of it has ended.
func together(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	var mu sync.Mutex
	var first error
	next := 0
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if first != nil || next == n {
			return 0, false
		}
		next++
		return next - 1, true
	}
	for range min(width, n) {
		group.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				if err := work(ctx, i); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
					cancel(err)
				}
			}
		})
	}
	group.Wait()
	return first
}
