package client

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"
)

func isShard(j Job) bool { return j.Shard > 0 }

// shardStatus returns how far the job of a shard has come, by the list of all jobs of its
// attempt; missing if the list does not have it. If several jobs have its title, it runs
// until all have ended, and its id is not known.
func (j Job) shardStatus(list []*github.WorkflowJob, missing JobState) JobStatus {
	titled := slices.DeleteFunc(slices.Clone(list), func(job *github.WorkflowJob) bool { return !j.isTitle(job.GetName()) })
	status := JobStatus{State: missing}
	if len(titled) == 1 {
		status.ID = titled[0].GetID()
	}
	for _, job := range titled {
		switch {
		case job.GetStatus() != "completed", j.mayStillRun(job):
			status.State = JobRuns
			return status
		case neverBegan(job):
			if status.State != JobEnded {
				status.State = JobNeverBegan
			}
		default:
			status.State = JobEnded
		}
	}
	return status
}

// isTitle reports whether a job with this title is that of the shard. In a reusable workflow
// the title begins with that of the calling job.
func (j Job) isTitle(title string) bool {
	name := "shard " + strconv.Itoa(j.Shard)
	return title == name || strings.HasSuffix(title, " / "+name)
}

// neverBegan reports whether no runner took a job before it ended.
func neverBegan(job *github.WorkflowJob) bool {
	return job.GetRunnerID() == 0 && job.GetRunnerName() == "" && len(job.Steps) == 0
}

// mayStillRun reports whether the processes of a job that GitHub calls completed may
// continue. On a self-hosted runner with which GitHub has lost contact they may, until their
// own limit.
func (j Job) mayStillRun(job *github.WorkflowJob) bool {
	hosted := job.GetRunnerGroupName() == "GitHub Actions" || strings.HasPrefix(job.GetRunnerName(), "GitHub Actions ")
	if hosted || neverBegan(job) || job.GetConclusion() == "success" {
		return false
	}
	return time.Now().Before(job.GetStartedAt().Add(j.Limit))
}
