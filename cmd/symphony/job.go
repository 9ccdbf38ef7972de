package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// The part of a job's time that is kept for the steps after ours: a tenth, within
// these bounds.
const minJobReserve, maxJobReserve = 30 * time.Second, 5 * time.Minute

// useJob takes the default deadline from timeout-minutes of the job we run in,
// and warns where the state needs a concurrency group that is missing. A
// workflow file that cannot be read changes neither.
func (t *tickCommand) useJob(event action.Event) error {
	job, err := t.readJob(event)
	if err != nil {
		if t.deadline == 0 {
			t.warnings = append(t.warnings, fmt.Sprintf("no deadline: the job's timeout-minutes is not known: %v", err))
		}
		return nil
	}
	if strings.HasPrefix(t.state, "cache:") && !job.InConcurrencyGroup {
		t.warnings = append(t.warnings, fmt.Sprintf(
			"the state is in the cache, and %s has no concurrency group: two runs at once may work on the same issue: add `concurrency: symphony`, or keep the state on a branch", event.File))
	}
	switch {
	case job.Timeout == 0:
		return nil
	case t.deadline >= job.Timeout:
		return fmt.Errorf("%w: %s %v is not before the end of the job, whose timeout-minutes are %v: raise those, or leave the deadline out", errUsage, t.option("deadline"), t.deadline, job.Timeout)
	case t.deadline == 0:
		t.deadline = defaultDeadline(job.Timeout, event.Began, time.Now())
	}
	return nil
}

// defaultDeadline returns what is left of the job's time. The runner's clock started
// with the job, some time before ours.
func defaultDeadline(timeout time.Duration, began, now time.Time) time.Duration {
	left := timeout - min(max(timeout/10, minJobReserve), maxJobReserve)
	if gone := now.Sub(began); !began.IsZero() && gone > 0 && gone < timeout {
		left -= gone
	}
	return max(left, time.Second)
}

// readJob finds our job in the workflow file of the checkout.
func (a *app) readJob(event action.Event) (workflow.Job, error) {
	folder, _ := a.getenv("GITHUB_WORKSPACE")
	switch ref, _ := a.getenv("GITHUB_WORKFLOW_REF"); {
	case ref == "":
		return workflow.Job{}, fmt.Errorf("find the workflow file: this server does not say which one it is; set %s to less than the job's time", a.option("deadline"))
	case event.File == "" || folder == "":
		return workflow.Job{}, fmt.Errorf("find the workflow file: it is not of this repository; set %s to less than the job's time", a.option("deadline"))
	}
	file, err := os.OpenInRoot(folder, event.File)
	if err != nil {
		return workflow.Job{}, fmt.Errorf("find the workflow file: %w; check out the repository first", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, 2<<20))
	if err != nil {
		return workflow.Job{}, fmt.Errorf("read the workflow file: %w; set %s to less than the job's time", err, a.option("deadline"))
	}
	return workflow.ParseJob(content, event.Job)
}
