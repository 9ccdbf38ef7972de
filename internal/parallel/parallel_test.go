package parallel_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/symphony-runner/symphony/internal/parallel"
)

func TestNoMoreThanTheLimitAtOnce(t *testing.T) {
	t.Parallel()
	var now, all atomic.Int64
	var tooMany atomic.Bool
	meet := make(chan struct{}) // two calls meet here, so that there are two at once
	err := parallel.Each(t.Context(), 2, make([]int, 100), func(context.Context, int, int) error {
		if now.Add(1) > 2 {
			tooMany.Store(true)
		}
		defer now.Add(-1)
		all.Add(1)
		select {
		case meet <- struct{}{}:
		case <-meet:
		}
		return nil
	})
	if err != nil || tooMany.Load() || all.Load() != 100 {
		t.Errorf("%d calls, too many at once: %v, %v", all.Load(), tooMany.Load(), err)
	}
}

func TestTheFirstErrorEndsTheOthers(t *testing.T) {
	t.Parallel()
	failed, ended := errors.New("no"), false
	err := parallel.Each(t.Context(), 2, []string{"waits", "fails"}, func(ctx context.Context, i int, item string) error {
		if i == 1 {
			return failed
		}
		<-ctx.Done()
		ended = true
		return ctx.Err()
	})
	if err != failed || !ended {
		t.Errorf("%v, ended: %v", err, ended)
	}
}
