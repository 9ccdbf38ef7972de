package runner

import (
	"context"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// maxReserve bounds the time that is reserved before a deadline to end gracefully.
const maxReserve = 10 * time.Second

// deadline holds the times that follow from [Runner].Deadline. The zero value has none.
type deadline struct {
	startBy time.Time // time after which nothing starts
	stopAt  time.Time // time at which sessions are stopped
}

// newDeadline returns the deadline of a run with a limit of time, and the zero value if the
// limit is 0. It reserves a tenth of the time, at most maxReserve, for each of two things: for a
// session to get anything done, and for the run to end. If work is published, the end may
// take longer: then up to a quarter of the time is for it.
func newDeadline(started time.Time, limit time.Duration, publishes bool) deadline {
	if limit <= 0 {
		return deadline{}
	}
	reserve := min(limit/10, maxReserve)
	end := reserve
	if publishes {
		end = min(limit/4, attempt.StopTime+maxReserve)
	}
	stopAt := started.Add(limit - end)
	return deadline{startBy: stopAt.Add(-reserve), stopAt: stopAt}
}

// stops reports whether sessions must be stopped now.
func (d deadline) stops(now time.Time) bool { return !d.stopAt.IsZero() && !now.Before(d.stopAt) }

// forbidsStart reports whether it is too late to start a session.
func (d deadline) forbidsStart(now time.Time) bool {
	return !d.startBy.IsZero() && now.After(d.startBy)
}

// bound returns a context for work that must not keep the loop from stopping sessions in time.
// It is ctx itself without a deadline, and from then on.
func (d deadline) bound(ctx context.Context, now time.Time) (context.Context, context.CancelFunc) {
	if d.stopAt.IsZero() || d.stops(now) {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, d.stopAt, schedule.StopError(schedule.DeadlineReached))
}

func stopText(reason schedule.Reason) string {
	if reason == schedule.DeadlineReached {
		return "the deadline was reached"
	}
	return "the run was interrupted"
}
