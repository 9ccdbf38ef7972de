package attempt

import (
	"context"
	"sync"

	"github.com/symphony-runner/symphony/tracker"
)

// OwnChange tells the runner whether a session itself has moved its issue on. Such a session
// ends after its turn, and its work is published, so no poll should stop it before. The zero
// value stands for a session that has changed nothing. It is safe for concurrent use.
type OwnChange struct {
	mu    sync.Mutex
	calls int            // tools of the tracker that run now
	issue *tracker.Issue // as the session has left it; nil if it has changed nothing
}

// Issue returns the issue as the session has left it. It is nil while a call may be changing
// it. ok says whether the session may have changed the issue at all.
func (o *OwnChange) Issue() (issue *tracker.Issue, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.calls > 0 {
		return nil, true
	}
	return o.issue, o.issue != nil
}

// During makes a call that may change the issue. The call returns the issue as it has left it,
// and nil if that is not known; and whether it may have changed it.
func (o *OwnChange) During(call func() (left *tracker.Issue, changed bool)) {
	o.mu.Lock()
	o.calls++
	o.mu.Unlock()
	left, changed := call()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls--
	if changed {
		o.issue = left
	}
}

// callTracker returns the result of a tool of the tracker. If that may have changed the issue,
// it reads it again. After a failed read a poll can stop the session.
func (a *attempt) callTracker(ctx context.Context, tool tracker.Tool, arguments []byte) (result tracker.ToolResult) {
	a.own.During(func() (*tracker.Issue, bool) {
		if result = tool.Call(ctx, a.Issue, arguments); !result.Wrote {
			return nil, false
		}
		left, _ := a.readIssue(ctx)
		return left, true
	})
	return result
}

// readIssue returns the issue as it is now; nil if the tracker no longer shows it.
func (a *attempt) readIssue(ctx context.Context) (*tracker.Issue, error) {
	ctx, cancel := context.WithTimeout(ctx, rereadTime)
	defer cancel()
	if a.Policy.AnyState {
		ctx = tracker.WithFeedback(ctx)
	}
	issues, err := a.Tracker.IssuesByID(ctx, []tracker.ID{a.Issue.ID})
	if err != nil || len(issues) == 0 {
		return nil, err
	}
	return &issues[0], nil
}
