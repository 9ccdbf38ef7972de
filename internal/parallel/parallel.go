// Package parallel does the same with many things, a few at a time: requests to a server, transfers,
// worker hosts, names to look up. A server has limits of its own, and what a machine holds at once
// stays bounded, however many things there are.
package parallel

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// Each calls do with each item and its index, limit of them at once, and returns when all calls have
// ended. It returns the first error, which ends the context of the others.
func Each[T any](ctx context.Context, limit int, items []T, do func(ctx context.Context, i int, item T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	for i, item := range items {
		group.Go(func() error { return do(ctx, i, item) })
	}
	return group.Wait()
}
