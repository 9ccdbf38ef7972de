package attempt

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestOneSessionRunsThePreflightCheckAndTheOthersWait(t *testing.T) {
	t.Parallel()
	own := errors.New("this session's own failure")
	noSandbox := codex.ErrNoSandbox
	for name, test := range map[string]struct {
		results []error // of the checks, in order
		want    error   // for the sessions that wait
	}{
		"all is well":         {[]error{nil}, nil},
		"no session can":      {[]error{noSandbox}, noSandbox},
		"one fails alone":     {[]error{own, nil}, nil},
		"and then nobody can": {[]error{own, own, noSandbox}, noSandbox},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewPreflightOnce()
				for _, found := range test.results[:len(test.results)-1] {
					if first, err := g.enter(t.Context()); !first || err != nil {
						t.Fatalf("entered %v, %v", first, err)
					}
					g.leave(found)
				}
				if first, err := g.enter(t.Context()); !first || err != nil {
					t.Fatalf("entered %v, %v", first, err)
				}
				waiting := make(chan error, 3)
				for range cap(waiting) {
					go func() {
						first, err := g.enter(t.Context())
						if first {
							err = errors.New("it had to check too")
						}
						waiting <- err
					}()
				}
				synctest.Wait()
				if len(waiting) != 0 {
					t.Error("a session did not wait for the check")
				}
				g.leave(test.results[len(test.results)-1])
				for range cap(waiting) {
					if err := <-waiting; !errors.Is(err, test.want) {
						t.Errorf("got %v, want %v", err, test.want)
					}
				}
			})
		})
	}
}

func TestAStoppedSessionDoesNotWaitForThePreflightCheck(t *testing.T) {
	t.Parallel()
	g := NewPreflightOnce()
	if first, err := g.enter(t.Context()); !first || err != nil {
		t.Fatal(first, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(schedule.StopError(schedule.Interrupted))
	if first, err := g.enter(ctx); first || !errors.Is(err, schedule.ErrInterrupted) {
		t.Errorf("entered %v, %v", first, err)
	}
	if first, err := (*PreflightOnce)(nil).enter(t.Context()); first || err != nil {
		t.Errorf("without a PreflightOnce: %v, %v", first, err)
	}
}
