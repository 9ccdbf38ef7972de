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

// Runs finds out which workflow runs have ended. One goroutine uses a Runs.
type Runs struct {
	client *client
	dead   map[schedule.Owner]bool // finished runs stay finished
}

// NewRuns returns a Runs for a repository. The token needs the permission
// actions: read. NewRuns sends no request, and fails with [ErrRefused].
func NewRuns(repo, apiURL, token string, client *http.Client) (*Runs, error) {
	c, err := newClient(repo, apiURL, token, client)
	if err != nil {
		return nil, fmt.Errorf("open workflow runs: %w", err)
	}
	return &Runs{client: c, dead: map[schedule.Owner]bool{}}, nil
}

// Life returns whether the owner of a claim still runs. It is Dead if the owner's
// attempt of the workflow run, or its job in that, has ended or was deleted. It is
// Unknown if the owner is not a workflow run, if GitHub cannot be asked, and if
// GitHub answers with an unknown status.
func (r *Runs) Life(ctx context.Context, o schedule.Owner) schedule.OwnerStatus {
	if r.dead[o] {
		return schedule.Dead
	}
	status := r.query(ctx, o)
	if status == schedule.Dead {
		r.dead[o] = true
	}
	return status
}

// query asks GitHub for the status of the owner.
func (r *Runs) query(ctx context.Context, o schedule.Owner) schedule.OwnerStatus {
	// The owner comes from a state that may be forged: put only numbers into a URL.
	id, err := strconv.ParseInt(o.Run, 10, 64)
	if err != nil || id <= 0 || o.Attempt <= 0 {
		return schedule.Unknown
	}
	run, _, err := r.client.getAttempt(ctx, r.client.owner, r.client.name, id, o.Attempt, nil)
	switch {
	case isStatusError(err, http.StatusNotFound):
		return r.statusOfMissingRun(ctx)
	case err != nil:
		return schedule.Unknown
	case run.GetRunAttempt() > o.Attempt: // a re-run begins after the attempt before it has ended
		return schedule.Dead
	}
	status := ownerStatusOf(run.GetStatus())
	if status == schedule.Alive && o.Job != "" && r.jobHasEnded(ctx, id, o) {
		return schedule.Dead
	}
	return status
}

// ownerStatusOf returns what the status of a workflow run says about its owner.
func ownerStatusOf(status string) schedule.OwnerStatus {
	switch status {
	case "completed":
		return schedule.Dead
	case "requested", "queued", "pending", "waiting", "in_progress":
		return schedule.Alive
	}
	return schedule.Unknown
}

// statusOfMissingRun returns the status of an owner whose run GitHub does not find:
// Dead, unless the token may not see runs.
func (r *Runs) statusOfMissingRun(ctx context.Context) schedule.OwnerStatus {
	one := &github.ListWorkflowRunsOptions{ListOptions: github.ListOptions{PerPage: 1}}
	list, _, err := r.client.listRuns(ctx, r.client.owner, r.client.name, one)
	if err == nil && list != nil && list.TotalCount != nil { // an answer of null gives a nil list
		return schedule.Dead
	}
	return schedule.Unknown
}

// jobHasEnded reports whether the owner's job has ended while its run continues. The
// owner names its job by the key in the workflow. GitHub gives the job's title,
// which is the key unless the workflow sets another one, with more text behind it in
// a matrix. So a job counts only if the owner also started while it ran. In doubt,
// the job has not ended.
func (r *Runs) jobHasEnded(ctx context.Context, run int64, o schedule.Owner) bool {
	list, _, err := r.client.listJobs(ctx, r.client.owner, r.client.name, run, int64(o.Attempt), &github.ListOptions{PerPage: 100})
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
