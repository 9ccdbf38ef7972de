package runner

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

const (
	// defaultWait bounds how long the tracker is not called when it limits
	// requests and does not say for how long.
	defaultWait = time.Minute
	// maxLimitWait bounds how long a single tick waits for the tracker in all.
	maxLimitWait = time.Minute
)

// rateLimit stores the time before which the tracker asked not to be called. The loop and the
// sessions share it, because a limit that one session meets applies to all.
type rateLimit struct {
	mu     sync.Mutex
	first  time.Time // time at which the tracker first asked to wait; zero before
	until  time.Time
	err    error // the error with which the tracker asked to wait
	logged error // the error that was logged last; only the loop uses it
}

// limitedReader wraps a tracker's reader. Until the time that the tracker named, it fails without
// a request. It hides the label of parked issues from the rest of the program: adding it is not a
// change of the issue by a person.
type limitedReader struct {
	tracker.Reader
	limit *rateLimit
	label string // label of parked issues in normal form; empty for none
}

func (r limitedReader) IssuesByState(ctx context.Context, states []string) ([]tracker.Issue, error) {
	return r.ask(func() ([]tracker.Issue, error) { return r.Reader.IssuesByState(ctx, states) })
}

func (r limitedReader) IssuesByID(ctx context.Context, ids []tracker.ID) ([]tracker.Issue, error) {
	return r.ask(func() ([]tracker.Issue, error) { return r.Reader.IssuesByID(ctx, ids) })
}

// ask calls read unless the tracker asked to wait, and records when it does. It changes no list of
// another.
func (r limitedReader) ask(read func() ([]tracker.Issue, error)) ([]tracker.Issue, error) {
	if err := r.limit.refusal(time.Now()); err != nil {
		return nil, err
	}
	issues, err := read()
	if wait, asked := tracker.RetryAfter(err); asked {
		now := time.Now()
		if wait <= 0 {
			wait = defaultWait
		}
		return nil, r.limit.extend(err, now, now.Add(min(wait, schedule.MaxTrackerWait)))
	}
	if r.label == "" {
		return issues, err
	}
	for i := range issues {
		if issues[i].HasLabel(r.label) {
			issues[i].Labels = slices.DeleteFunc(slices.Clone(issues[i].Labels), func(label string) bool { return label == r.label })
		}
		if len(issues[i].Labels) == 0 {
			issues[i].Labels = nil // the same as in an issue that never had a label
		}
	}
	return issues, err
}

// refusal returns the error of a read that must wait; nil if it need not.
func (l *rateLimit) refusal(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.until) {
		return l.err
	}
	return nil
}

// extend makes reads fail with err until the given time, unless they must wait
// longer already.
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
