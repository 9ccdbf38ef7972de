package main

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/workspace"
)

// self is this run as the owner of its claims.
func (a *app) self() schedule.Owner {
	host, _ := os.Hostname()
	run, _ := a.getenv("GITHUB_RUN_ID")
	job, _ := a.getenv("GITHUB_JOB")
	number, _ := a.getenv("GITHUB_RUN_ATTEMPT")
	attempt, _ := strconv.Atoi(number) // 0 outside Actions
	return schedule.Owner{
		Run: run, Attempt: attempt, Job: job, Host: cmp.Or(host, "unknown"), PID: os.Getpid(), Started: time.Now().UnixMilli(),
	}
}

// life says what is known of another owner. A workflow run is asked for through
// GitHub; where it cannot be, a state that went back in time counts it as over.
// On this machine, who holds the lock of a state file is the only one alive;
// without the lock a process is looked for. What is not known the lease decides.
func (a *app) life(path string, self schedule.Owner, state place) func(context.Context, schedule.Owner) schedule.OwnerStatus {
	file, _ := state.(*stateFile)
	locked := file != nil && !file.readOnly
	var runs *store.Runs
	if repo, api, token, err := a.repository(path); err == nil {
		runs, _ = store.NewRuns(repo, api, token, http.DefaultClient) // nil: it cannot be asked
	}
	known := func(ctx context.Context, o schedule.Owner) schedule.OwnerStatus {
		switch {
		case o.Run != "" && runs != nil:
			return runs.Life(ctx, o)
		case o.Host != self.Host || o.Run != "":
			return schedule.Unknown
		case !locked && workspace.Alive(o.PID):
			return schedule.Alive
		}
		return schedule.Dead
	}
	return func(ctx context.Context, o schedule.Owner) schedule.OwnerStatus {
		life := known(ctx, o)
		if life == schedule.Unknown && file != nil {
			if _, _, back := file.wentBack(); back {
				return schedule.Dead
			}
		}
		return life
	}
}
