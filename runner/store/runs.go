package store

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// Runs knows which workflow runs are over. It is for one goroutine.
type Runs struct {
	api  *api
	dead map[schedule.Owner]bool // nobody comes back from there
}

// NewRuns is for the workflow runs of a repository. The token needs
// actions: read. It asks nothing of GitHub, and fails with [ErrRefused].
func NewRuns(repo, apiURL, token string, client *http.Client) (*Runs, error) {
	api, err := newAPI(repo, apiURL, token, client)
	if err != nil {
		return nil, fmt.Errorf("open workflow runs: %w", err)
	}
	return &Runs{api: api, dead: map[schedule.Owner]bool{}}, nil
}

// Life is what GitHub knows of the owner: dead when its attempt of the run is
// over or deleted, or its job in it. It is unknown when it is no workflow run,
// when GitHub cannot be asked, and when it says something new.
func (r *Runs) Life(ctx context.Context, o schedule.Owner) schedule.OwnerStatus {
	if r.dead[o] {
		return schedule.Dead
	}
	life := r.ask(ctx, o)
	if life == schedule.Dead {
		r.dead[o] = true
	}
	return life
}

func (r *Runs) ask(ctx context.Context, o schedule.Owner) schedule.OwnerStatus {
	// A state is input: only a number goes into a URL.
	id, err := strconv.ParseInt(o.Run, 10, 64)
	if err != nil || id <= 0 || o.Attempt <= 0 {
		return schedule.Unknown
	}
	run, _, err := r.api.getAttempt(ctx, r.api.owner, r.api.name, id, o.Attempt, nil)
	switch {
	case isRefusal(err, http.StatusNotFound):
		return r.deleted(ctx)
	case err != nil:
		return schedule.Unknown
	case run.GetRunAttempt() > o.Attempt: // a re-run begins when the attempt before it is over
		return schedule.Dead
	}
	life := lifeOf(run.GetStatus())
	if life == schedule.Alive && o.Job != "" && r.jobIsOver(ctx, id, o) {
		return schedule.Dead
	}
	return life
}

func lifeOf(status string) schedule.OwnerStatus {
	switch status {
	case "completed":
		return schedule.Dead
	case "requested", "queued", "pending", "waiting", "in_progress":
		return schedule.Alive
	}
	return schedule.Unknown
}

// deleted is the life in a run that GitHub does not find: over, unless it is the
// token that may not see it.
func (r *Runs) deleted(ctx context.Context) schedule.OwnerStatus {
	one := &github.ListWorkflowRunsOptions{ListOptions: github.ListOptions{PerPage: 1}}
	list, _, err := r.api.listRuns(ctx, r.api.owner, r.api.name, one)
	if err == nil && list != nil && list.TotalCount != nil { // an answer of null is a nil list
		return schedule.Dead
	}
	return schedule.Unknown
}

// jobIsOver reports whether the owner's job has ended while its run goes on. A
// job is known by its key in the workflow, and GitHub tells its title, which is
// the key unless somebody gave another, and says more in a matrix. So a job
// counts only if the owner also began while it ran; and when in doubt, it is not over.
func (r *Runs) jobIsOver(ctx context.Context, run int64, o schedule.Owner) bool {
	list, _, err := r.api.listJobs(ctx, r.api.owner, r.api.name, run, int64(o.Attempt), &github.ListOptions{PerPage: 100})
	if err != nil || list == nil || list.GetTotalCount() > len(list.Jobs) {
		return false
	}
	began := time.UnixMilli(o.Started)
	over := false
	for _, j := range list.Jobs {
		if j.GetName() != o.Job && !strings.HasPrefix(j.GetName(), o.Job+" (") {
			continue
		}
		if j.GetStatus() != "completed" {
			return false
		}
		over = over || !began.Before(j.GetStartedAt().Time) && !began.After(j.GetCompletedAt().Time)
	}
	return over
}
