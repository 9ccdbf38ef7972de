package main

import (
	"cmp"
	"context"
	"os"
	"strconv"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace"
)

// owner returns this run as the owner of its claims.
func (a *app) owner() schedule.Owner {
	host, _ := os.Hostname()
	run, _ := a.getenv("GITHUB_RUN_ID")
	job, _ := a.getenv("GITHUB_JOB")
	number, _ := a.getenv("GITHUB_RUN_ATTEMPT")
	attempt, _ := strconv.Atoi(number) // 0 outside Actions
	return schedule.Owner{
		Run: run, Attempt: attempt, Job: job, Host: cmp.Or(host, "unknown"), PID: os.Getpid(), Started: time.Now().UnixMilli(),
	}
}

// ownerStatus returns a function that reports whether another owner is alive. GitHub is
// asked about a workflow run; where that is not possible, the run counts as dead if
// the state was rolled back. On this machine, the holder of the lock of a state file
// is the only live owner; without the lock its process is looked for. Where the
// answer is unknown the lease decides.
func (a *app) ownerStatus(wf workflow.Workflow, self schedule.Owner, state *stateStore) func(context.Context, schedule.Owner) schedule.OwnerStatus {
	var runs *client.Runs // nil: it cannot be asked
	if repo, api, token, err := a.repository(wf); err == nil {
		if c, err := client.New(client.Config{Repo: repo, APIURL: api, Token: token}, nil); err == nil {
			runs = client.NewRuns(c)
		}
	}
	known := func(ctx context.Context, o schedule.Owner) schedule.OwnerStatus {
		switch {
		case o.Run != "" && runs != nil:
			return runStatus(runs.Ended(ctx, client.Job{Run: o.Run, Attempt: o.Attempt, Key: o.Job, Began: time.UnixMilli(o.Started)}))
		case o.Host != self.Host || o.Run != "":
			return schedule.Unknown
		case !state.exclusive && workspace.Alive(o.PID):
			return schedule.Alive
		}
		return schedule.Dead
	}
	return func(ctx context.Context, o schedule.Owner) schedule.OwnerStatus {
		status := known(ctx, o)
		if _, _, back := state.rolledBack(); status == schedule.Unknown && back {
			return schedule.Dead
		}
		return status
	}
}

// runStatus returns what the end of a job says about the owner that ran in it.
func runStatus(ended, known bool) schedule.OwnerStatus {
	switch {
	case !known:
		return schedule.Unknown
	case ended:
		return schedule.Dead
	}
	return schedule.Alive
}
