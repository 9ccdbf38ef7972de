package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/action"
)

// The part of a job's time that is kept for the steps after ours: a tenth, within
// these bounds.
const minJobReserve, maxJobReserve = 30 * time.Second, 5 * time.Minute

// useJob takes the default deadline from timeout-minutes of the job we run in,
// and warns where the state needs a concurrency group that is missing. A
// workflow file that cannot be read changes neither.
func (x *tickRun) useJob(event action.Event) error {
	job, err := x.actions.Job(event)
	if err != nil {
		if x.deadline == 0 && !x.noLogin { // a part without sessions needs none
			x.warn(fmt.Sprintf("no deadline, because the job's timeout-minutes is not known: set %s to less than it: %v", x.option("deadline"), err))
		}
		return nil
	}
	if strings.HasPrefix(x.app.state, "cache:") && !job.InConcurrencyGroup {
		x.warn(fmt.Sprintf(
			"the state is in the cache, and %s has no concurrency group that all its runs share: two at once may work on the same issue: add `concurrency: symphony`, or keep the state on a branch", event.File))
	}
	switch {
	case job.Timeout == 0:
		return nil
	case x.deadline >= job.Timeout:
		return fmt.Errorf("%w: %s %v is not before the end of the job, whose timeout-minutes are %v: raise those, or leave the deadline out", errUsage, x.option("deadline"), x.deadline, job.Timeout)
	case x.deadline == 0:
		x.deadline = defaultDeadline(job.Timeout, event.Began, time.Now())
	}
	return nil
}

// defaultDeadline returns the rest of the job's time. The runner's clock started
// with the job, some time before ours.
func defaultDeadline(timeout time.Duration, began, now time.Time) time.Duration {
	left := timeout - min(max(timeout/10, minJobReserve), maxJobReserve)
	if gone := now.Sub(began); !began.IsZero() && gone > 0 && gone < timeout {
		left -= gone
	}
	return max(left, time.Second)
}
