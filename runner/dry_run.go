package runner

import (
	"context"
	"time"

	"github.com/symphony-runner/symphony/runner/report"
)

// Plan returns the report of a tick that only plans, with the reasons for not doing more. It
// changes nothing: neither the state, nor a workspace, nor an issue.
func (r *Runner) Plan(ctx context.Context) (report.Tick, error) {
	l, err := r.plan(ctx)
	return l.tick, err
}

// plan returns a loop that has planned once and started nothing, with the report of it.
func (r *Runner) plan(ctx context.Context) (*loop, error) {
	l := newLoop(r)
	l.tick.DryRun = true
	l.cleaner.searched = true // nothing is removed
	err := l.open(ctx)
	if err == nil {
		err = l.pollOnce(ctx)
	}
	l.finish(time.Now())
	return l, err
}

// pollOnce polls, and polls again if the tracker asks to wait for a short time.
func (l *loop) pollOnce(ctx context.Context) error {
	for {
		l.poll(ctx, time.Now())
		if !l.issues.awaitsTracker(time.Now()) {
			return l.issues.unread
		}
		select {
		case <-time.After(time.Until(l.issues.limit.end())):
		case <-ctx.Done():
			return l.issues.unread
		}
	}
}
