package client

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"
)

func isShard(j Job) bool { return j.Shard > 0 }

// shardState returns how far the job of a shard has come, by the list of all jobs of its
// attempt; missing if the list does not have it. If several jobs have its title, it runs
// until all have ended.
func (j Job) shardState(list []*github.WorkflowJob, missing JobState) JobState {
	state := missing
	for _, job := range list {
		if !j.isTitle(job.GetName()) {
			continue
		}
		switch {
		case job.GetStatus() != "completed", j.mayStillRun(job):
			return JobRuns
		case neverBegan(job):
			if state != JobEnded {
				state = JobNeverBegan
			}
		default:
			state = JobEnded
		}
	}
	return state
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
