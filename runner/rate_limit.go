package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

const (
	// unsaidWait is how long the tracker is left alone when it limits requests and
	// does not say for how long.
	unsaidWait = time.Minute
	// maxLimitWait is how long a single tick waits for the tracker in all.
	maxLimitWait = time.Minute
)

// rateLimit knows until when the tracker asked not to be asked. The loop and the
// sessions share it, since each of them learns of a limit that holds for all.
type rateLimit struct {
	mu    sync.Mutex
	first time.Time // when the tracker first asked to wait; zero before
	until time.Time
	err   error // with which the tracker asked to wait
	told  error // the one that was logged last; only the loop uses it
}

// limitedReader is a tracker's reader that fails without a request until the time
// that the tracker named is over.
type limitedReader struct {
	tracker.Reader
	limit *rateLimit
}

func (r limitedReader) IssuesByState(ctx context.Context, states []string) ([]tracker.Issue, error) {
	return r.limit.ask(func() ([]tracker.Issue, error) { return r.Reader.IssuesByState(ctx, states) })
}

func (r limitedReader) IssuesByID(ctx context.Context, ids []tracker.ID) ([]tracker.Issue, error) {
	return r.limit.ask(func() ([]tracker.Issue, error) { return r.Reader.IssuesByID(ctx, ids) })
}

// ask reads unless the tracker asked to wait, and notes when it does.
func (l *rateLimit) ask(read func() ([]tracker.Issue, error)) ([]tracker.Issue, error) {
	if err := l.refusal(time.Now()); err != nil {
		return nil, err
	}
	issues, err := read()
	if wait, asked := tracker.RetryAfter(err); asked {
		now := time.Now()
		if wait <= 0 {
			wait = unsaidWait
		}
		return nil, l.extend(err, now, now.Add(min(wait, schedule.MaxTrackerWait)))
	}
	return issues, err
}

// refusal returns the error of a read that has to wait; nil when none has to.
func (l *rateLimit) refusal(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.until) {
		return l.err
	}
	return nil
}

// extend lets reads fail with err until a time, unless they have to wait longer
// already.
func (l *rateLimit) extend(err error, now, until time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first.IsZero() {
		l.first = now
	}
	if until.After(l.until) {
		l.until, l.err = until, fmt.Errorf("%w, not before %s", err, until.UTC().Format(time.RFC3339))
	}
	return l.err
}

func (l *rateLimit) end() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// keepWait writes the wait into the state, for the next run and for a restarted
// service. One that is over stays there: it holds nothing, and taking it out
// would be a save of a tick in which nothing happened.
func (l *loop) keepWait() {
	if end := l.limit.end(); !end.IsZero() {
		l.state.Wait = schedule.TrackerWait{Tracker: l.wf.Settings.Tracker.Kind, Until: end}
	}
}

// takeWait takes over the wait that another run was told, for the same tracker.
func (l *loop) takeWait() {
	now, wait := time.Now(), l.state.Wait
	if left := wait.Until.Sub(now); left > 0 && wait.Tracker == l.wf.Settings.Tracker.Kind {
		_ = l.limit.extend(&tracker.RateLimitError{Op: "read the tracker", RetryAfter: left.Round(time.Second)}, now, wait.Until)
	}
}

// waits takes in a read that failed because the tracker is to be left alone, and
// reports whether it did. The next poll is not later than the end of the wait.
func (l *loop) waits(now time.Time) bool {
	err := l.limit.refusal(now)
	if err == nil {
		return false
	}
	if end := l.limit.end(); end.Before(l.nextPoll) {
		l.nextPoll = end
	}
	if l.limit.told != err {
		l.limit.told = err
		l.warn(err.Error())
		l.Log.Warn("the tracker asks to wait: nothing starts until it can be read again", "error", err)
	}
	return true
}

// awaitsTracker reports whether a single tick is to wait until the tracker can be
// asked again: a minute in all, and not beyond its deadline.
func (l *loop) awaitsTracker(now time.Time) bool {
	if l.unread == nil || l.limit.refusal(now) == nil {
		return false
	}
	end := l.limit.end()
	return end.Sub(l.limit.first) <= maxLimitWait && (l.startBy.IsZero() || end.Before(l.startBy))
}
