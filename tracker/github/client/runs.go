package client

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/go-github/v62/github"
)

// Job identifies a job of a workflow run, for a question about it.
type Job struct {
	Run     string // the id
	Attempt int
	Key     string    // key of the job in the workflow; empty for all jobs of the run
	Began   time.Time // some time while it ran; of a shard, while its plan ran
	Shard   int       // number of the shard of a fleet, found by the title of its job, "shard 3"; 0 for other jobs
	// Limit is the time from the start of a shard until it has ended its sessions by itself.
	// A self-hosted runner may continue after GitHub has lost contact with it, so the job of
	// a shard counts as running until then.
	Limit time.Duration
	// Collects is true if the job that collects the results of the shard asks. If another run
	// asks, a shard counts as running until its attempt of the workflow run has ended, because
	// its result may be collected until then.
	Collects bool
}

// JobState is the progress of a job.
type JobState int

// The states of a job.
const (
	JobRuns       JobState = iota + 1 // it runs or waits, or it is not certain that it has ended
	JobEnded                          // it has ended or was deleted
	JobNeverBegan                     // it has ended, and no runner took it; shards alone have this state
	JobNotNamed                       // unknown: jobs of its attempt ran, but none of them has the title of a shard
)

// JobStatus is GitHub's record of a job.
type JobStatus struct {
	State JobState
	ID    int64 // GitHub's id of the job of a shard; 0 for other jobs, and if the list was not read or is ambiguous
}

type attempt struct {
	run    int64
	number int
}

// maxJobPages bounds the jobs of an attempt that are read: a run has at most 256 from
// each matrix. A job beyond them counts as running.
const maxJobPages = 5

// Runs finds out how far jobs of workflow runs have come. It is safe for concurrent use.
type Runs struct {
	client *Client

	mu    sync.Mutex
	ended map[Job]JobStatus // a job that has ended does not run again
}

// NewRuns returns a Runs for the repository of a client.
func NewRuns(c *Client) *Runs { return &Runs{client: c, ended: map[Job]JobStatus{}} }

// Statuses returns the state of each job. It leaves out the jobs whose state is unknown: GitHub
// does not have the run, cannot be asked, or answers with an unknown status. It asks about each
// attempt once, and about its jobs while it runs or if it had shards.
func (r *Runs) Statuses(ctx context.Context, jobs []Job) map[Job]JobStatus {
	statuses := make(map[Job]JobStatus, len(jobs))
	var asked []attempt // attempts in the order of their jobs
	of := map[attempt][]Job{}
	r.mu.Lock()
	for _, j := range jobs {
		// The id comes from a state that may be forged: only numbers go into a URL.
		id, err := strconv.ParseInt(j.Run, 10, 64)
		switch a := (attempt{id, j.Attempt}); {
		case err != nil || id <= 0 || j.Attempt <= 0:
		case r.ended[j].State != 0:
			statuses[j] = r.ended[j]
		default:
			if of[a] == nil {
				asked = append(asked, a)
			}
			of[a] = append(of[a], j)
		}
	}
	r.mu.Unlock()
	for _, a := range asked {
		if ctx.Err() != nil {
			break
		}
		for j, status := range r.ask(ctx, a, of[a]) {
			statuses[j] = status
			if status.State != JobRuns {
				r.mu.Lock()
				r.ended[j] = status
				r.mu.Unlock()
			}
		}
	}
	return statuses
}

// ask finds out how far the jobs of an attempt have come.
func (r *Runs) ask(ctx context.Context, a attempt, jobs []Job) map[Job]JobStatus {
	run, err := get[github.WorkflowRun](ctx, r.client, ReadActions, "/actions/runs/%d/attempts/%d", a.run, a.number)
	switch {
	case HasStatus(err, http.StatusNotFound):
		if r.isDeleted(ctx, a.run) {
			return sameState(jobs, JobEnded)
		}
		return nil
	case err != nil:
		return nil
	case run.GetRunAttempt() > a.number: // a re-run begins after the attempt before it has ended
		return r.jobsOfEnded(ctx, a, jobs)
	}
	switch run.GetStatus() {
	case "completed":
		return r.jobsOfEnded(ctx, a, jobs)
	case "requested", "queued", "pending", "waiting", "in_progress":
		return r.jobsOfRunning(ctx, a, jobs)
	}
	return nil
}

func sameState(jobs []Job, state JobState) map[Job]JobStatus {
	answer := make(map[Job]JobStatus, len(jobs))
	for _, j := range jobs {
		answer[j] = JobStatus{State: state}
	}
	return answer
}

// isDeleted reports whether a run that was not found is gone. It is not if the token may not
// see runs, or if the server is one that has the run and does not know attempts.
func (r *Runs) isDeleted(ctx context.Context, run int64) bool {
	if _, err := get[github.WorkflowRun](ctx, r.client, ReadActions, "/actions/runs/%d", run); !HasStatus(err, http.StatusNotFound) {
		return false
	}
	list, err := get[github.WorkflowRuns](ctx, r.client, ReadActions, "/actions/runs?per_page=1")
	return err == nil && list.TotalCount != nil
}

// jobsOfEnded returns the states of the jobs of an attempt that has ended. It leaves out shards
// if the list of jobs cannot be read.
func (r *Runs) jobsOfEnded(ctx context.Context, a attempt, jobs []Job) map[Job]JobStatus {
	answer := sameState(jobs, JobEnded)
	if !slices.ContainsFunc(jobs, isShard) {
		return answer
	}
	list, complete := r.jobs(ctx, a)
	for _, j := range jobs {
		switch {
		case !isShard(j):
		case !complete:
			delete(answer, j)
		default:
			answer[j] = j.shardStatus(list, JobNeverBegan)
		}
	}
	return answer
}

// jobsOfRunning returns the states of the jobs of an attempt that continues. In doubt, a job
// runs.
func (r *Runs) jobsOfRunning(ctx context.Context, a attempt, jobs []Job) map[Job]JobStatus {
	answer := sameState(jobs, JobRuns)
	if !slices.ContainsFunc(jobs, func(j Job) bool { return j.Key != "" || j.Collects }) {
		return answer
	}
	list, complete := r.jobs(ctx, a)
	if !complete {
		return answer
	}
	for _, j := range jobs {
		switch {
		case isShard(j) && j.Collects:
			answer[j] = j.shardStatus(list, JobRuns)
		case j.Key != "" && j.hasEnded(list):
			answer[j] = JobStatus{State: JobEnded}
		}
	}
	return answer
}

// jobs reads the jobs of an attempt, and reports whether these are all.
func (r *Runs) jobs(ctx context.Context, a attempt) (jobs []*github.WorkflowJob, complete bool) {
	for page := range maxJobPages {
		list, err := get[github.Jobs](ctx, r.client, ReadActions, "/actions/runs/%d/attempts/%d/jobs?per_page=100&page=%d", a.run, a.number, page+1)
		if err != nil || list.TotalCount == nil || len(list.Jobs) == 0 {
			return nil, false
		}
		if jobs = append(jobs, list.Jobs...); len(jobs) >= list.GetTotalCount() {
			return jobs, true
		}
	}
	return nil, false
}

// hasEnded reports whether a job of a run that continues is among the ended ones. GitHub
// gives the title of a job, which is its key unless the workflow sets another one, with
// more text behind it in a matrix. So a job counts only if it also ran when ours began.
func (j Job) hasEnded(list []*github.WorkflowJob) bool {
	over := false
	for _, job := range list {
		if title := job.GetName(); title != j.Key && !strings.HasPrefix(title, j.Key+" (") {
			continue
		}
		if job.GetStatus() != "completed" {
			return false
		}
		over = over || !j.Began.Before(job.GetStartedAt().Time) && !j.Began.After(job.GetCompletedAt().Time)
	}
	return over
}
