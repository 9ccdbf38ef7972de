package trackertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/tracker"
)

// categories are the error categories that a read may fail with.
var categories = []error{
	tracker.ErrMissingSecret, tracker.ErrRequest, tracker.ErrStatus,
	tracker.ErrResponse, tracker.ErrPagination, tracker.ErrRateLimited,
}

// checkFailed checks that a read failed as it should: with a category, and with nothing.
func (p *probe) checkFailed(issues []tracker.Issue, err error) {
	p.t.Helper()
	p.recordError(err)
	if err == nil {
		p.t.Errorf("the read succeeded with %d issues", len(issues))
		return
	}
	if !slices.ContainsFunc(categories, func(category error) bool { return errors.Is(err, category) }) {
		p.t.Errorf("the error has no category: %v", err)
	}
	if len(issues) != 0 {
		p.t.Errorf("a failed read gave %d issues: %v", len(issues), err)
	}
}

// CheckError fails the test unless err has the category and its text has the words.
func CheckError(t testing.TB, err, category error, words ...string) {
	t.Helper()
	if !errors.Is(err, category) {
		t.Errorf("got %v, want %v", err, category)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v: does not mention %q", err, word)
		}
	}
}

func refusal(p *probe) {
	if p.Refuse == nil {
		p.t.Skip("this tracker cannot refuse")
	}
	id := p.put("unreachable")
	p.mustList(p.Active)
	p.Refuse()
	p.checkFailed(p.byState(p.Active))
	p.checkFailed(p.byID(id))
}

func midway(p *probe) {
	if p.FailMidway == nil {
		p.t.Skip("this tracker cannot fail in the middle of a read")
	}
	list := p.putMany()
	p.FailMidway()
	p.checkFailed(p.byState(p.Active))
	p.checkFailed(p.byID(list...))
}

func canceledBefore(p *probe) {
	id := p.put("unread")
	ctx, cancel := context.WithCancel(p.t.Context())
	cancel()
	p.checkCanceled(p.Adapter.IssuesByState(ctx, []string{p.Active}))
	p.checkCanceled(p.Adapter.IssuesByID(ctx, []tracker.ID{id}))
}

// checkCanceled checks that a read failed because its context was canceled.
func (p *probe) checkCanceled(issues []tracker.Issue, err error) {
	p.t.Helper()
	p.checkFailed(issues, err)
	if !errors.Is(err, context.Canceled) {
		p.t.Errorf("the error does not hold the cause %v: %v", context.Canceled, err)
	}
}

func canceledAnywhere(p *probe) {
	list := p.putMany()
	for looks := 1; looks <= 512; looks *= 2 {
		issues, err := p.Adapter.IssuesByState(newCountdown(p.t.Context(), looks), []string{p.Active})
		p.checkComplete(list, issues, err)
		issues, err = p.Adapter.IssuesByID(newCountdown(p.t.Context(), looks), list)
		p.checkComplete(list, issues, err)
	}
}

// checkComplete checks that a read gave everything or failed.
func (p *probe) checkComplete(want []tracker.ID, issues []tracker.Issue, err error) {
	p.t.Helper()
	if err != nil {
		p.checkFailed(issues, err)
		return
	}
	if diff := cmp.Diff(want, ids(issues)); diff != "" {
		p.t.Errorf("a read that did not fail is not complete (-want +got):\n%s", diff)
	}
}

func canceledWaiting(p *probe) {
	if p.Hang == nil {
		p.t.Skip("this tracker cannot leave a request unanswered")
	}
	id := p.put("unanswered")
	p.cancelWaiting(func(ctx context.Context) ([]tracker.Issue, error) {
		return p.Adapter.IssuesByState(ctx, []string{p.Active})
	})
	p.cancelWaiting(func(ctx context.Context) ([]tracker.Issue, error) {
		return p.Adapter.IssuesByID(ctx, []tracker.ID{id})
	})
}

// cancelWaiting cancels a read while the tracker leaves its request unanswered.
func (p *probe) cancelWaiting(read func(context.Context) ([]tracker.Issue, error)) {
	waiting := p.Hang()
	ctx, cancel := context.WithCancel(p.t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		select {
		case <-waiting:
			cancel()
		case <-ctx.Done():
		}
	})
	issues, err := read(ctx)
	cancel()
	group.Wait()
	p.checkCanceled(issues, err)
}

// countdown is a context that is canceled after a number of calls of Err or Done, so that
// a test can cancel in the middle of work that takes only a moment.
type countdown struct {
	context.Context
	cancel context.CancelFunc
	looks  atomic.Int64
}

func newCountdown(parent context.Context, looks int) *countdown {
	ctx, cancel := context.WithCancel(parent)
	c := &countdown{Context: ctx, cancel: cancel}
	c.looks.Store(int64(looks))
	return c
}

func (c *countdown) Err() error {
	c.look()
	return c.Context.Err()
}

func (c *countdown) Done() <-chan struct{} {
	c.look()
	return c.Context.Done()
}

func (c *countdown) look() {
	if c.looks.Add(-1) == 0 {
		c.cancel()
	}
}
