package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// handOverTime bounds a hand-over and the read of the issue after it.
const handOverTime = 45 * time.Second

// handOver hands an issue over whose work is published, and returns the outcome of its
// session with the issue as it is then. A failed hand-over fails the session: the next
// one has nothing to do but that.
func handOver(ctx context.Context, job attempt.Job, to workflow.HandOver, o schedule.Outcome) schedule.Outcome {
	switch {
	case to == workflow.HandOver{}, o.Class != schedule.Done, !o.Delivered, o.Gone:
		return o
	case o.Issue != nil && !job.Policy.IneligibleToContinue(*o.Issue).None():
		return o // the agent or a person was faster
	}
	ctx, cancel := context.WithTimeout(ctx, handOverTime)
	defer cancel()
	err := write(ctx, job.Tracker.Writer, job.Issue.ID, to)
	if errors.Is(err, tracker.ErrInDoubt) { // a repeated write changes nothing
		err = write(ctx, job.Tracker.Writer, job.Issue.ID, to)
	}
	if err != nil && !errors.Is(err, tracker.ErrFinished) && !errors.Is(err, tracker.ErrNotVisible) { // the read tells
		o.Class, o.Fault = classOfHandOver(err)
		o.Unsettled = o.Class == schedule.Transient || o.Class == schedule.Systemic
		if o.Class == schedule.Systemic {
			o.Cause = schedule.CauseDelivery
		}
		o.Why = fmt.Sprintf("the work is published, and the issue was not handed over: delivery.hand_over: %v", err)
		return o
	}
	o.Issue = nil
	if job.Policy.AnyState {
		ctx = tracker.WithFeedback(ctx)
	}
	switch issues, err := job.Tracker.IssuesByID(ctx, []tracker.ID{job.Issue.ID}); {
	case err != nil:
		job.Log.Warn("the issue was not read after its hand-over", "error", err)
	case len(issues) == 0:
		o.Gone = true
	default:
		o.Issue = &issues[0]
	}
	return o
}

// classOfHandOver returns the class of a hand-over that failed, and the fault
// of the workflow if it may be one. Each further try costs a session, so a failure that
// would repeat itself is left to a person.
func classOfHandOver(err error) (class schedule.Class, fault string) {
	const setting = "delivery.hand_over"
	answer, answered := errors.AsType[*transport.Error](err)
	_, later := tracker.RetryAfter(err)
	switch {
	case errors.Is(err, tracker.ErrInvalidConfig), errors.Is(err, tracker.ErrInvalidWrite):
		return schedule.NeedsInput, setting
	case answered && (answer.Answer.Status == http.StatusUnauthorized || answer.Answer.Status == http.StatusForbidden) && !later:
		return schedule.Systemic, "" // the token is the same for every issue
	case later, answered && answer.InDoubt(), !errors.Is(err, tracker.ErrStatus):
		return schedule.Transient, ""
	}
	return schedule.IssueFailed, setting
}

func write(ctx context.Context, w tracker.Writer, id tracker.ID, to workflow.HandOver) error {
	if to.State != "" {
		return w.Move(ctx, id, to.State)
	}
	return w.Label(ctx, id, to.RemoveLabel, false)
}
