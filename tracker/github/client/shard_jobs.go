package client

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"
)

func isShard(j Job) bool { return j.Shard > 0 }

// shardStatus returns the progress of the job of a shard, by the list of all jobs of its
// attempt. If no job has its title, the state is JobNotNamed if the jobs of the shards seem to
// have other titles, else missing. If several have it, the job runs until all of them have
// ended, and its id is not known.
func (j Job) shardStatus(list []*github.WorkflowJob, missing JobState) JobStatus {
	titled := slices.DeleteFunc(slices.Clone(list), func(job *github.WorkflowJob) bool { return !j.isTitle(job.GetName()) })
	status := JobStatus{State: missing}
	if len(titled) == 0 && j.isRenamed(list) {
		status.State = JobNotNamed
	}
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

// isRenamed reports whether the jobs of the shards seem to have other titles in the workflow
// of a user: no job has the title of a shard, although several began after the plan. If the
// plan failed, there are no shards, and only collect began after it.
func (j Job) isRenamed(list []*github.WorkflowJob) bool {
	later := 0
	for _, job := range list {
		if isShardTitle(job.GetName()) {
			return false
		}
		if !neverBegan(job) && job.GetStartedAt().After(j.Began) {
			later++
		}
	}
	return later > 1
}

// isTitle reports whether a job with this title works on the shard. In a reusable workflow
// the title begins with the title of the calling job.
func (j Job) isTitle(title string) bool {
	name := "shard " + strconv.Itoa(j.Shard)
	return title == name || strings.HasSuffix(title, " / "+name)
}

func isShardTitle(title string) bool {
	title = " / " + title
	i := strings.LastIndex(title, " / shard ")
	if i < 0 {
		return false
	}
	_, err := strconv.ParseUint(title[i+len(" / shard "):], 10, 16)
	return err == nil
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
