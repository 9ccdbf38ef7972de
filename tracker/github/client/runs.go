package client

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/go-github/v62/github"
)

// Job is a job of a workflow run.
type Job struct {
	Run     string // the id
	Attempt int
	Key     string    // in the workflow; empty for all jobs of the run
	Began   time.Time // some time while it ran
}

// Runs finds out which workflow runs have ended. Any number of goroutines may use it.
type Runs struct {
	client *Client

	mu    sync.Mutex
	ended map[Job]bool // a job that has ended does not run again
}

// NewRuns returns a Runs for the repository of a client.
func NewRuns(c *Client) *Runs { return &Runs{client: c, ended: map[Job]bool{}} }

// Ended reports whether a job has ended: its attempt of the workflow run, or the job
// in that, has ended or was deleted. It is not known if the run is not one of GitHub,
// if GitHub cannot be asked, and if GitHub answers with an unknown status.
func (r *Runs) Ended(ctx context.Context, j Job) (ended, known bool) {
	r.mu.Lock()
	ended = r.ended[j]
	r.mu.Unlock()
	if ended {
		return true, true
	}
	if ended, known = r.ask(ctx, j); ended {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ended[j] = true
	}
	return ended, known
}

func (r *Runs) ask(ctx context.Context, j Job) (ended, known bool) {
	// The id comes from a state that may be forged: only numbers go into a URL.
	id, err := strconv.ParseInt(j.Run, 10, 64)
	if err != nil || id <= 0 || j.Attempt <= 0 {
		return false, false
	}
	run, err := get[github.WorkflowRun](ctx, r.client, ReadActions, "/actions/runs/%d/attempts/%d", id, j.Attempt)
	switch {
	case HasStatus(err, http.StatusNotFound):
		mayRead := r.mayRead(ctx)
		return mayRead, mayRead
	case err != nil:
		return false, false
	case run.GetRunAttempt() > j.Attempt: // a re-run begins after the attempt before it has ended
		return true, true
	}
	switch run.GetStatus() {
	case "completed":
		return true, true
	case "requested", "queued", "pending", "waiting", "in_progress":
		return j.Key != "" && r.jobHasEnded(ctx, id, j), true
	}
	return false, false
}

// mayRead reports whether the token may see runs, so that one that is not found was
// deleted.
func (r *Runs) mayRead(ctx context.Context) bool {
	list, err := get[github.WorkflowRuns](ctx, r.client, ReadActions, "/actions/runs?per_page=1")
	return err == nil && list.TotalCount != nil
}

// jobHasEnded reports whether a job has ended while its run continues. GitHub gives
// the title of a job, which is its key unless the workflow sets another one, with
// more text behind it in a matrix. So a job counts only if it also ran when ours
// began. In doubt, the job has not ended.
func (r *Runs) jobHasEnded(ctx context.Context, run int64, j Job) bool {
	list, err := get[github.Jobs](ctx, r.client, ReadActions, "/actions/runs/%d/attempts/%d/jobs?per_page=100", run, j.Attempt)
	if err != nil || list.GetTotalCount() > len(list.Jobs) {
		return false
	}
	over := false
	for _, job := range list.Jobs {
		if job.GetName() != j.Key && !strings.HasPrefix(job.GetName(), j.Key+" (") {
			continue
		}
		if job.GetStatus() != "completed" {
			return false
		}
		over = over || !j.Began.Before(job.GetStartedAt().Time) && !j.Began.After(job.GetCompletedAt().Time)
	}
	return over
}
