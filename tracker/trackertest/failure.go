package trackertest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/tracker"
)

// categories are the errors that a read may end in.
var categories = []error{
	tracker.ErrMissingSecret, tracker.ErrRequest, tracker.ErrStatus,
	tracker.ErrResponse, tracker.ErrPagination, tracker.ErrRateLimited,
}

// failed checks that a read failed as it should: with a category, and with nothing.
func (p *probe) failed(issues []tracker.Issue, err error) {
	p.t.Helper()
	p.hear(err)
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

func refusal(p *probe) {
	if p.Refuse == nil {
		p.t.Skip("this tracker cannot refuse")
	}
	id := p.put("unreachable")
	p.mustList(p.Active)
	p.Refuse()
	p.failed(p.byState(p.Active))
	p.failed(p.byID(id))
}

func midway(p *probe) {
	if p.FailMidway == nil {
		p.t.Skip("this tracker cannot fail in the middle of a read")
	}
	list := p.putMany()
	p.FailMidway()
	p.failed(p.byState(p.Active))
	p.failed(p.byID(list...))
}

func cancelledBefore(p *probe) {
	id := p.put("unread")
	ctx, cancel := context.WithCancel(p.t.Context())
	cancel()
	p.cancelled(p.Adapter.IssuesByState(ctx, []string{p.Active}))
	p.cancelled(p.Adapter.IssuesByID(ctx, []tracker.ID{id}))
}

// cancelled checks that a read failed because its context was cancelled.
func (p *probe) cancelled(issues []tracker.Issue, err error) {
	p.t.Helper()
	p.failed(issues, err)
	if !errors.Is(err, context.Canceled) {
		p.t.Errorf("the error does not hold the cause %v: %v", context.Canceled, err)
	}
}

func cancelledAnywhere(p *probe) {
	list := p.putMany()
	for looks := 1; looks <= 512; looks *= 2 {
		issues, err := p.Adapter.IssuesByState(newFuse(p.t.Context(), looks), []string{p.Active})
		p.complete(list, issues, err)
		issues, err = p.Adapter.IssuesByID(newFuse(p.t.Context(), looks), list)
		p.complete(list, issues, err)
	}
}

// complete checks that a read gave everything or failed.
func (p *probe) complete(want []tracker.ID, issues []tracker.Issue, err error) {
	p.t.Helper()
	if err != nil {
		p.failed(issues, err)
		return
	}
	if diff := cmp.Diff(want, ids(issues)); diff != "" {
		p.t.Errorf("a read that did not fail is not complete (-want +got):\n%s", diff)
	}
}

func cancelledWaiting(p *probe) {
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

// cancelWaiting cancels a read once the tracker keeps it waiting.
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
	p.cancelled(issues, err)
}
