package wiring

import (
	"context"
	"strconv"
	"time"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace"
)

// OwnerStatuses returns a function that returns the statuses of other owners, and the jobs that
// shards ran in. It asks GitHub about workflow runs; where that is not possible, a run counts
// as dead if the state was rolled back. On this machine, the holder of the lock of a state file
// is the only live owner; without the lock the function looks for the process. Where the answer
// is unknown the lease decides.
func OwnerStatuses(place StatePlace, wf workflow.Workflow, self schedule.Owner, state *StateStore) func(context.Context, []schedule.Owner) map[schedule.Owner]runner.OwnerAnswer {
	var runs *client.Runs // nil: it cannot be asked
	if c := place.client(wf); c != nil {
		runs = client.NewRuns(c)
	}
	here := func(o schedule.Owner) schedule.OwnerStatus {
		switch {
		case o.Host != self.Host || o.Run != "" || o.Shard > 0:
			return schedule.Unknown
		case !state.Exclusive && workspace.Alive(o.PID):
			return schedule.Alive
		}
		return schedule.Dead
	}
	return func(ctx context.Context, owners []schedule.Owner) map[schedule.Owner]runner.OwnerAnswer {
		jobs := map[client.Job]client.JobStatus{}
		if runs != nil {
			jobs = runs.Statuses(ctx, jobsOf(owners, self))
		}
		_, _, rolledBack := state.rolledBack()
		answers := make(map[schedule.Owner]runner.OwnerAnswer, len(owners))
		for _, o := range owners {
			var answer runner.OwnerAnswer
			job := jobs[jobOf(o, self)]
			switch job.State {
			case client.JobRuns:
				answer.Status = schedule.Alive
			case client.JobEnded:
				answer.Status = schedule.Dead
			case client.JobNeverBegan:
				answer.Status = schedule.Unstarted
			case client.JobNotNamed:
				answer.Status, answer.Unnamed = schedule.Unknown, true
			default:
				answer.Status = here(o)
			}
			if rolledBack && answer.Status == schedule.Unknown {
				answer.Status = schedule.Dead
			}
			if job.ID > 0 {
				answer.Job = strconv.FormatInt(job.ID, 10)
			}
			answers[o] = answer
		}
		return answers
	}
}

// jobsOf returns the jobs of the owners that are workflow runs; self is the owner that asks.
func jobsOf(owners []schedule.Owner, self schedule.Owner) []client.Job {
	var jobs []client.Job
	for _, o := range owners {
		if o.Run != "" {
			jobs = append(jobs, jobOf(o, self))
		}
	}
	return jobs
}

// jobOf returns the job of a workflow run that an owner ran in; the zero Job for none.
func jobOf(o, self schedule.Owner) client.Job {
	if o.Shard > 0 && o.Host != "" {
		return client.Job{} // a run of another engine, even if its id is a number
	}
	if o.Shard > 0 {
		return client.Job{
			Run: o.Run, Attempt: o.Attempt, Shard: o.Shard, Began: time.UnixMilli(o.Started), Limit: time.Duration(o.Limit) * time.Second, Collects: o.Run == self.Run,
		}
	}
	return client.Job{Run: o.Run, Attempt: o.Attempt, Key: o.Job, Began: time.UnixMilli(o.Started)}
}
