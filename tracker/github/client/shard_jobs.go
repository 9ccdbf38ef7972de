package client

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"
)

func isShard(j Job) bool { return j.Shard > 0 }

// shardState returns how far the job of a shard has come, by the list of all jobs of its
// attempt; missing if it is not among them. Of several with its title all must have ended.
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

// isTitle reports whether a job with this title is the shard. In a workflow that is called
// by another one, the title has that of the calling job before it.
func (j Job) isTitle(title string) bool {
	name := "shard " + strconv.Itoa(j.Shard)
	return title == name || strings.HasSuffix(title, " / "+name)
}

// neverBegan reports whether no runner took a job before it ended.
func neverBegan(job *github.WorkflowJob) bool {
	return job.GetRunnerID() == 0 && job.GetRunnerName() == "" && len(job.Steps) == 0
}

// mayStillRun reports whether the processes of a job that has ended may go on: on a runner
// of the user, which GitHub only stops hearing from, until their own limit.
func (j Job) mayStillRun(job *github.WorkflowJob) bool {
	hosted := job.GetRunnerGroupName() == "GitHub Actions" || strings.HasPrefix(job.GetRunnerName(), "GitHub Actions ")
	if hosted || neverBegan(job) || job.GetConclusion() == "success" {
		return false
	}
	return time.Now().Before(job.GetStartedAt().Add(j.Limit))
}
